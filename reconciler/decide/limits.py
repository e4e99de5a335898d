"""Which limit stops the next pod of a given size? On a small node it is often not GPU memory but the number of pods."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reconciler.model.node import Resources

PODS = "pods"


@dataclass(frozen=True, slots=True)
class Load:
    """What runs on a node."""

    requested: Resources = field(default_factory=dict)
    """The sum of what its pods ask for, as the scheduler counts."""
    pods: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """What one resource allows for pods of one size."""

    resource: str
    """As Kubernetes spells it; `pods` is the number of pods that the kubelet allows."""
    fits: int
    """How many more such pods fit beside what runs."""
    total: int
    """How many would fit on the empty node."""


def limits(allocatable: Resources, load: Load, pod: Resources) -> tuple[Limit, ...]:
    """One limit for each resource that the pod asks for, and `pods`; what binds first comes first.

    A resource that the node does not have fits no pod: the scheduler reads absent as 0.
    """
    sizes = {name: size for name, size in pod.items() if size > 0 and name != PODS}
    found = [_limit(name, allocatable.get(name, 0), load.requested.get(name, 0), size) for name, size in sizes.items()]
    if PODS in allocatable:
        found.append(_limit(PODS, allocatable[PODS], load.pods, 1))
    return tuple(sorted(found, key=lambda limit: (limit.fits, limit.total, limit.resource)))


def binds(found: Sequence[Limit]) -> Limit | None:
    """The limit that is reached first; None where nothing limits."""
    return found[0] if found else None


def sentence(found: Sequence[Limit]) -> str:
    """What binds first and what would come next, for people."""
    if not found:
        return "nothing limits pods of this size"
    first, *rest = found
    text = f"{first.resource} binds first: {first.fits} more pods of this size fit, {first.total} on the empty node"
    others = ", ".join(f"{limit.resource} {limit.fits} of {limit.total}" for limit in rest)
    return f"{text} ({others})" if others else text


def _limit(name: str, there: int, taken: int, size: int) -> Limit:
    return Limit(name, max(0, there - taken) // size, max(0, there) // size)
