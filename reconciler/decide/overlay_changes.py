"""What is to be written and removed, so that our overlays stand as they should? Nobody else's is touched."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.model import names
from reconciler.model.node_pool import Requirement
from reconciler.model.overlay import OverlayAction, OverlayView, RemoveOverlay, Wanted, WriteOverlay


def changes(wanted: Sequence[Wanted], found: Iterable[OverlayView]) -> list[OverlayAction]:
    """In an order by which no two of ours ever name the same type: Karpenter would apply neither's change."""
    ours = {one.name: one for one in found if one.subject is not None}
    foreign = {one.name for one in found if one.subject is None}
    names_wanted = {one.name for one in wanted}
    removals = [RemoveOverlay(one.name, one.uid) for name, one in sorted(ours.items()) if name not in names_wanted]
    writes = [
        WriteOverlay(one, ours.get(one.name))
        for one in wanted
        if one.name not in foreign and not stands(one, ours.get(one.name))
    ]
    return [*removals, *sorted(writes, key=_grows)]


def stands(wanted: Wanted, found: OverlayView | None) -> bool:
    """Whether the overlay already says all that it should."""
    return (
        found is not None
        and found.subject is wanted.subject
        and found.weight == wanted.weight
        and dict(found.capacity) == dict(wanted.capacity)
        and _places(found.requirements) == _places(wanted.requirements)
        and len(found.requirements) == len(wanted.requirements)
    )


def _places(requirements: Sequence[Requirement]) -> Mapping[tuple[str, str], frozenset[str]]:
    return {(one.key, one.operator): frozenset(one.values) for one in requirements}


def _grows(write: WriteOverlay) -> int:
    """0 for one that only loses types, 1 for another change, 2 for a new one."""
    if write.over is None:
        return 2
    before = _places(write.over.requirements).get((names.LABEL_INSTANCE_TYPE, "In"), frozenset[str]())
    return 0 if before >= set(write.overlay.types) else 1
