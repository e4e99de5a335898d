"""Is there a fence on the node, whose is it, and is its time over?"""

from datetime import datetime, timedelta
from enum import Enum, auto

from reconciler.model import fence, names
from reconciler.model.node import NodeView, Taint
from reconciler.model.plan import ClearTaint, SetTaint

QUIET = timedelta(seconds=3)
"""Between a fence and the switch: a scheduler that has not seen the fence may still bind a pod, which must show."""


class Fencing(Enum):
    NONE = auto()
    FOREIGN = auto()
    """For another purpose: it is never touched."""
    STANDS = auto()
    OVER = auto()
    """Ours, and its deadline has passed, cannot be read, or lies where none of ours can lie."""


def of(taints: tuple[Taint, ...], now: datetime, longest: timedelta) -> Fencing:
    """`longest`: how long a fence of ours stands. One that would stand for more than twice that was edited, or was
    set by a clock that ran far ahead: it would keep pods away for as long."""
    found = fence.of(taints)
    if found is None:
        return Fencing.NONE
    if found.purpose != fence.SLICING:
        return Fencing.FOREIGN
    left = found.until - now if found.until is not None else timedelta(0)
    return Fencing.STANDS if timedelta(0) < left <= 2 * longest else Fencing.OVER


def deadline(taints: tuple[Taint, ...]) -> datetime | None:
    """Of our fence; None: there is none, or its deadline cannot be read."""
    found = fence.of(taints)
    return found.until if found is not None and found.purpose == fence.SLICING else None


def put(node: NodeView, until: datetime) -> SetTaint:
    return SetTaint(node.key, fence.taint(fence.SLICING, until), _others(node), node.resource_version)


def clear(node: NodeView) -> ClearTaint:
    return ClearTaint(node.key, names.FENCE_TAINT, _others(node), node.resource_version)


def _others(node: NodeView) -> tuple[Taint, ...]:
    """Every taint but ours, in order: the list is written whole."""
    return tuple(taint for taint in node.taints if taint.key != names.FENCE_TAINT)
