"""Which overlays should stand? Equal amounts share one, and a name says what it tells."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from reconciler.model import names
from reconciler.model.node import InstanceType, Resources
from reconciler.model.overlay import Subject, Wanted
from reconciler.model.quantity import MIB

MOST_TYPES = 100
"""In one overlay."""

Amounts = Mapping[InstanceType, Mapping[str, Resources | None]]
"""For each type, what it offers in each NodePool that may launch it; None: nothing is to be told there."""

_PREFIX = "gpu-reconciler"
_LONGEST_POOL = 180
"""Characters of a NodePool's name within ours, of 253 in all."""


def of(subject: Subject, amounts: Amounts, weight: int, *, bound: frozenset[InstanceType] | None) -> list[Wanted]:
    """The overlays, by name. `bound`: types whose overlays name their NodePools in any case; None: all do.

    Where every NodePool gets the same of a type, its overlay names none, and holds for NodePools that come.
    """
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[InstanceType]] = {}
    for kind, by_pool in amounts.items():
        told = {pool: tuple(sorted(one.items())) for pool, one in by_pool.items() if one is not None}
        alike = bound is not None and kind not in bound and len(told) == len(by_pool) and len(set(told.values())) == 1
        places = {"": next(iter(told.values()))} if alike else told
        for pool, what in places.items():
            groups.setdefault((pool, what), []).append(kind)
    wanted = [
        Wanted(_name(subject, number, dict(what), pool), subject, part, dict(what), weight, pool)
        for (pool, what), kinds in groups.items()
        for number, part in enumerate(_parts(sorted(kinds)), start=1)
    ]
    return sorted(wanted, key=lambda one: one.name)


def _parts(kinds: Sequence[InstanceType]) -> Iterable[tuple[InstanceType, ...]]:
    return (tuple(kinds[start : start + MOST_TYPES]) for start in range(0, len(kinds), MOST_TYPES))


def _name(subject: Subject, number: int, capacity: Resources, pool: str) -> str:
    """`gpu-reconciler-memory-14592mi`, `gpu-reconciler-gpus-4-in-dev`; `memory2` for the second hundred of types."""
    part = f"{subject.value}{number if number > 1 else ''}"
    where = f"-in-{_short(pool)}" if pool else ""
    return f"{_PREFIX}-{part}-{_amount(subject, capacity)}{where}"


def _amount(subject: Subject, capacity: Resources) -> str:
    if subject is Subject.MEMORY:
        (amount,) = capacity.values()
        return f"{amount // MIB}mi"
    shared = capacity.get(names.GPU_SHARED_RESOURCE)
    return f"shared-{shared}" if shared is not None else str(max(capacity.values()))


def _short(pool: str) -> str:
    if len(pool) <= _LONGEST_POOL:
        return pool
    digest = hashlib.sha256(pool.encode()).hexdigest()[:8]
    return f"{pool[:_LONGEST_POOL].rstrip('.-')}-{digest}"
