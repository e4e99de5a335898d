"""Which profile does a rule ask for on this node?"""

from dataclasses import dataclass
from typing import assert_never

from reconciler.decide.rule import Found
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.model import names
from reconciler.model.reasons import Reason
from reconciler.model.record import Source
from reconciler.model.sharing import (
    EXCLUSIVE,
    LEAST_REPLICAS,
    Exclusive,
    MemoryPerSlice,
    Named,
    Replicas,
    profile_name,
)

_BY_DECISION = frozenset({Reason.MULTI_GPU, Reason.FOREIGN_VALUE})
"""The memory stays unadvertised for as long as people want it so: nothing to wait for."""


@dataclass(frozen=True, slots=True)
class Wish:
    profile: str
    replicas: int | None
    """How often each GPU should show; None: whatever the profile says."""
    because: str
    """A clause: which rule, and how it came to this profile."""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """The number of slices cannot be told from the memory."""

    because: str
    comes: bool
    """Whether it may become known without anybody changing a setting."""


def of(found: Found, facts: SharingFacts, *, ours: str | None) -> Wish | Uncounted:
    """The wish. `ours`: the profile that the node's label has from us."""
    by = f"by rule {found.name}"
    match found.rule.wanted:
        case Exclusive():
            return Wish(EXCLUSIVE, 1, by)
        case Replicas(count):
            return Wish(profile_name(count), max(1, count), by)
        case Named(profile):
            return Wish(profile, None, by)
        case MemoryPerSlice() as wanted:
            return _by_memory(wanted, facts, found.name, ours)
        case _:
            assert_never(found.rule.wanted)


def replicas_of(profile: str) -> int | None:
    """The count in a name of ours; None for other names."""
    if profile == EXCLUSIVE:
        return 1
    digits = profile.removeprefix("ts-")
    count = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < len("10000") else 0
    return count if count >= LEAST_REPLICAS and profile == profile_name(count) else None


def _by_memory(wanted: MemoryPerSlice, facts: SharingFacts, rule: str, ours: str | None) -> Wish | Uncounted:
    mib = _each(facts)
    if mib is None:
        standing = replicas_of(ours) if ours is not None else None
        if ours is not None and standing is not None:
            # A reboot or a new controller makes the figure provisional for a while: no reason to switch back and forth.
            return Wish(ours, standing, f"by rule {rule}, as counted before")
        if facts.memory.reason in _BY_DECISION and names.LABEL_MEMORY_MIB not in facts.memory.labels:
            why = (
                f"rule {rule} counts slices by memory, and none is advertised here ({facts.memory.reason.value}): give"
                " the rule a number of replicas, or let the memory be advertised"
            )
            return Uncounted(why, comes=False)
        return Uncounted(f"rule {rule} counts slices by memory, whose figure is not settled yet", comes=True)
    size = max(1, wanted.mib)
    fits = mib // size
    count = min(fits, wanted.most)
    if count < LEAST_REPLICAS:
        return Wish(EXCLUSIVE, 1, f"by rule {rule}, since {mib} MiB make fewer than two slices of {size}")
    capped = f", at most {wanted.most}" if fits > count else ""
    return Wish(profile_name(count), count, f"by rule {rule}: {mib} MiB in slices of {size}{capped}")


def _each(facts: SharingFacts) -> int | None:
    """MiB of one GPU; None where they are not known, or may still change."""
    memory = facts.memory
    if memory.mib is None:
        # Nothing is advertised on several GPUs; the label may tell the largest one (capacity.multi_gpu: largest).
        told = memory.labels.get(names.LABEL_MEMORY_MIB, "")
        measured = facts.settled or memory.labels.get(names.LABEL_SOURCE) == Source.NVML.value
        several = memory.reason in (Reason.MULTI_GPU, Reason.GPU_LOST)
        return int(told) if several and measured and told.isascii() and told.isdecimal() else None
    if memory.reason is Reason.WOULD_OVERCOMMIT or not (facts.settled or _may_be_corrected(facts)):
        return None
    # The sum is of the GPUs that NVML reads, which may be fewer than there should be.
    readable = memory.labels.get(names.LABEL_COUNT, "")
    gpus = int(readable) if readable.isascii() and readable.isdecimal() else memory.count
    return memory.mib // max(1, gpus)


def _may_be_corrected(facts: SharingFacts) -> bool:
    """Whether a profile by a figure that may still change does no harm: no pod has come, and none comes yet.

    Karpenter takes a node for what it offers first. One that showed a GPU as a whole before its slices would make it
    buy a machine more for the pods that are waiting (seen with Karpenter 1.15 for AWS).
    """
    return facts.node.has_startup_taint and facts.held == 0
