"""NodePools and NodeOverlays on paper: what an API server and Karpenter make of our actions, as a pure function."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from reconciler.aws.builtin import builtin
from reconciler.decide.expected import TypeFacts
from reconciler.decide.overlays import OverlayFacts, decide
from reconciler.model import names
from reconciler.model.node import InstanceType
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.overlay import (
    OverlayAction,
    OverlayPlan,
    OverlayPolicy,
    OverlayReason,
    OverlayView,
    RemoveOverlay,
    Subject,
    WriteOverlay,
)
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.quantity import MIB
from reconciler.model.sharing import EXCLUSIVE, PluginConfig, Profile, profile_name
from tests.decide.fake_node import NOW

MEMORY = names.MEMORY_RESOURCE
GPU = names.GPU_RESOURCE
PLUGIN = PluginConfig({EXCLUSIVE: Profile(), **{profile_name(count): Profile(count) for count in range(2, 17)}})
SLICES = OverlayPolicy(slices=True)
CATEGORY = "karpenter.k8s.aws/instance-category"
FAMILY = "karpenter.k8s.aws/instance-family"


def need(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values)


def types(*kinds: str) -> Requirement:
    return need(names.LABEL_INSTANCE_TYPE, "In", *kinds)


def pool(name: str = "dev", *needs: Requirement, labels: Mapping[str, str] | None = None) -> NodePoolView:
    return NodePoolView(name, needs, labels or {}, "karpenter.k8s.aws")


def table(*kinds: str) -> dict[InstanceType, TypeFacts]:
    """What the built-in table says of these types; of all without any."""
    chosen = [InstanceType(kind) for kind in kinds] or [row.figure.instance_type for row in builtin()]
    return {kind: TypeFacts(builtin=builtin().answer(kind)) for kind in chosen}


def overlay(
    name: str,
    capacity: Mapping[str, int],
    *needs: Requirement,
    weight: int = 0,
    subject: Subject | None = None,
    validated: bool | None = True,
    **others: object,
) -> OverlayView:
    """One that Karpenter has judged; a stranger's, unless a subject is given."""
    long_ago = NOW - timedelta(days=1)
    view = OverlayView(name, f"uid-{name}", needs, capacity, weight, subject, long_ago, validated)
    return replace(view, **others)  # type: ignore[arg-type]  # the caller's fields are checked by the dataclass


def facts(
    *pools: NodePoolView,
    overlays: Sequence[OverlayView] = (),
    kinds: Mapping[InstanceType, TypeFacts] | None = None,
    **others: object,
) -> OverlayFacts:
    known = OverlayFacts(pools, tuple(overlays), kinds if kinds is not None else table(), PLUGIN)
    return replace(known, **others)  # type: ignore[arg-type]  # likewise


def plan(
    known: OverlayFacts,
    policy: OverlayPolicy | None = None,
    memory: CapacityPolicy | None = None,
    slicing: SlicingPolicy | None = None,
    now: datetime = NOW,
) -> OverlayPlan:
    return decide(known, memory or CapacityPolicy(), slicing or SlicingPolicy(), policy or OverlayPolicy(), now)


def applied(overlays: Iterable[OverlayView], actions: Iterable[OverlayAction]) -> tuple[OverlayView, ...]:
    """The overlays after these actions, all judged by Karpenter."""
    there = {one.name: one for one in overlays}
    for action in actions:
        match action:
            case RemoveOverlay(name, uid):
                assert there.pop(name).uid == uid
            case WriteOverlay(wanted, over):
                assert there.get(wanted.name) == over
                there[wanted.name] = overlay(
                    wanted.name, wanted.capacity, *wanted.requirements, weight=wanted.weight, subject=wanted.subject
                )
    return tuple(there.values())


def said(plan: OverlayPlan) -> dict[str, dict[str, int]]:
    """Each wanted overlay: its amounts, memory in MiB."""
    return {
        one.name: {name: amount // MIB if name == MEMORY else amount for name, amount in one.capacity.items()}
        for one in plan.wanted
    }


def memory_of(plan: OverlayPlan, kind: str, pool: str = "dev") -> int | None:
    """MiB that Karpenter will expect of the type in the NodePool; None: nothing."""
    return told(plan, MEMORY, kind, pool, MIB)


def gpus_of(plan: OverlayPlan, kind: str, pool: str = "dev", resource: str = GPU) -> int | None:
    return told(plan, resource, kind, pool, 1)


def told(plan: OverlayPlan, resource: str, kind: str, pool: str, unit: int) -> int | None:
    found = [
        one.capacity[resource] // unit
        for one in plan.wanted
        if kind in one.types and one.pool in ("", pool) and resource in one.capacity
    ]
    assert len(found) <= 1, f"two overlays of ours meet on {kind} in {pool}"
    return found[0] if found else None


def reasons(plan: OverlayPlan) -> list[OverlayReason]:
    return [finding.reason for finding in plan.findings]


def sentence(plan: OverlayPlan, reason: OverlayReason) -> str:
    (found,) = [finding.sentence for finding in plan.findings if finding.reason is reason]
    return found
