"""What does a node promise a pod of its GPUs? From our record and labels, else from GPU Feature Discovery's labels."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.decide import label, wish
from reconciler.model import names
from reconciler.model.fields import LARGEST_MIB, MOST_GPUS
from reconciler.model.node import NodeView
from reconciler.model.probe_report import GpuReading
from reconciler.model.probe_state import Probed
from reconciler.model.quantity import MIB
from reconciler.model.reasons import SharingReason
from reconciler.model.record import CapacityRecord

_NAMELESS = frozenset({"", "gpu", "nvidia"})
_NOT_PART_OF_A_MODEL = frozenset({"nvidia", "tesla", "shared"})
"""Makers' names, and what GPU Feature Discovery appends to `nvidia.com/gpu.product` of a sliced GPU."""


@dataclass(frozen=True, slots=True)
class Said:
    """A number, and who says it in words for a sentence."""

    number: int
    by: str


def readings(node: NodeView) -> tuple[GpuReading, ...]:
    """The GPUs that the probe of this very boot read; empty where there is none."""
    record = node.record
    if isinstance(record, CapacityRecord) and record.boot_id == node.boot_id and isinstance(record.probe, Probed):
        return record.probe.report.readable
    return ()


def gpus(node: NodeView) -> Said | None:
    """How many physical GPUs the node has; None where nobody says."""
    record = node.record
    if isinstance(record, CapacityRecord) and record.count > 0:
        return Said(record.count, "the node's record")
    return _number(node, (names.LABEL_COUNT, names.GFD_COUNT), MOST_GPUS)


def model(node: NodeView) -> tuple[str, str]:
    """The GPUs' model and who says it; empty where nobody does."""
    record = node.record
    if isinstance(record, CapacityRecord) and record.gpu.lower() not in _NAMELESS:
        return record.gpu, "the node's record"
    for name in (names.LABEL_MODEL, names.GFD_PRODUCT):
        if (found := node.labels.get(name, "")).lower() not in _NAMELESS:
            return found, f"the label {name}"
    return "", ""


def memory_mib(node: NodeView) -> Said | None:
    """MiB of one GPU as NVML counts them, before margins."""
    return _number(node, (names.LABEL_MEMORY_MIB, names.GFD_MEMORY), LARGEST_MIB)


def advertised_mib(node: NodeView, resource: str) -> int | None:
    """MiB of the memory resource for each GPU, since a node may advertise the sum of several."""
    amount = node.allocatable.get(resource, 0)
    if amount < 1:
        return None
    count = gpus(node)
    return amount // MIB // (count.number if count is not None else 1)


def replicas(node: NodeView) -> Said | None:
    """How often each GPU is to show; None where nobody says.

    A profile's name says it where the profile is ours, or where a rule of ours watches over it. Elsewhere `ts-4` is
    somebody's word for something, and GPU Feature Discovery, which reads the plugin's own configuration, knows better.
    """
    profile = node.labels.get(names.PLUGIN_CONFIG, "")
    watched = node.sharing_condition is not None and node.sharing_condition.reason != SharingReason.HOST_PLUGIN
    if watched and (count := wish.replicas_of(profile)) is not None:
        return Said(count, f"the profile {profile}")
    return _number(node, (names.GFD_REPLICAS,), MOST_GPUS * MOST_GPUS)


def same_model(promised: str, seen: str) -> bool:
    """Whether NVML's product name is that of the promised model.

    EC2's names and labels are NVML's with words left out or moved (`RTX PRO Server 6000` is `NVIDIA RTX PRO 6000
    Blackwell Server Edition`), so each of their words must be one of NVML's.
    """
    return _words(promised) <= _words(label.valid(seen))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z0-9]+", text.lower())) - _NOT_PART_OF_A_MODEL - {""}


def _number(node: NodeView, labels: Iterable[str], most: int) -> Said | None:
    """The first of these labels that is a number above zero. Others write some of them, so there are bounds."""
    for name in labels:
        text = node.labels.get(name, "")
        if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 0 < int(text) <= most:
            return Said(int(text), f"the label {name}")
    return None
