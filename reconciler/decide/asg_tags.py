"""What must the tags of a node group say, so that Cluster Autoscaler scales it from zero for GPU memory?

Read by its AWS provider (aws_manager.go, extractAllocatableResourcesFromAsg and the like): a tag a resource, a label, a
taint. One node group has one template for all its types, so the least of them counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.decide.expected import Expected
from reconciler.decide.slots import Slots
from reconciler.model import names
from reconciler.model.node import InstanceType
from reconciler.model.quantity import mib_text

PREFIX = "k8s.io/cluster-autoscaler/node-template"
LONGEST_KEY = 128
"""Characters of a tag's key, in Auto Scaling and in EKS alike."""

_LABELS = (names.LABEL_MODEL, names.LABEL_COUNT)
"""Ours that hold before a probe has answered. The memory in MiB does not: NVML may find another figure."""


@dataclass(frozen=True, slots=True)
class TypeOffer:
    """What one node of a type will offer."""

    kind: InstanceType
    expected: Expected
    slots: Slots


@dataclass(frozen=True, slots=True)
class GroupTags:
    tags: Mapping[str, str]
    notes: tuple[str, ...] = ()
    """What is left out, and why; sentences."""


def tags(offers: Sequence[TypeOffer], resource: str, *, startup_taint: bool) -> GroupTags:
    """The tags of a node group of these types."""
    found: dict[str, str] = {}
    notes: list[str] = []
    silent = [offer for offer in offers if offer.expected.mib is None]
    if silent or not offers:
        notes += [
            f"no tag for {resource}, since {one.kind} advertises none at first: {one.expected.why}" for one in silent
        ]
    else:
        found[f"{PREFIX}/resources/{resource}"] = mib_text(min(offer.expected.mib or 0 for offer in offers))
    found |= _gpus(offers, notes)
    found |= _labels(offers)
    if startup_taint:
        found[f"{PREFIX}/taint/{names.STARTUP_TAINT}"] = ":NoSchedule"
    for key in [key for key in found if len(key) > LONGEST_KEY]:
        notes.append(f"no tag {key}, since it is longer than the {LONGEST_KEY} characters that AWS allows")
        del found[key]
    return GroupTags(dict(sorted(found.items())), tuple(notes))


def _gpus(offers: Sequence[TypeOffer], notes: list[str]) -> dict[str, str]:
    unknown = [offer for offer in offers if offer.slots.amounts is None]
    if unknown:
        notes += [f"no tag for GPUs, since {one.kind}: {one.slots.why}" for one in unknown]
        return {}
    resources = sorted({name for offer in offers for name in offer.slots.amounts or {}})
    return {
        f"{PREFIX}/resources/{name}": str(min((offer.slots.amounts or {}).get(name, 0) for offer in offers))
        for name in resources
    }


def _labels(offers: Sequence[TypeOffer]) -> dict[str, str]:
    """Labels that every type of the group will carry alike."""
    told = {key: {offer.expected.verdict.labels.get(key, "") for offer in offers} for key in _LABELS}
    return {
        f"{PREFIX}/label/{key}": values.pop() for key, values in told.items() if len(values) == 1 and "" not in values
    }
