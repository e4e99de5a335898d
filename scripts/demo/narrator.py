"""How does a change of a node read as a sentence? In the controller's own words, from the node's condition."""

from reconciler.model.node import Condition, NodeView
from scripts.demo.board import allocatable_mib, offered
from scripts.demo.telling import Telling

LONGEST = 240


class Narrator:
    """Says what happens to nodes, as the API server shows it. Give `changed` to a NodeCache."""

    def __init__(self, telling: Telling, resource: str) -> None:
        self._telling = telling
        self._resource = resource

    def changed(self, before: NodeView | None, after: NodeView | None) -> None:
        if after is None:
            return
        words = [self._amount(before, after), self._reason(before, after)]
        words += [_slots(before, after), _sharing(before, after), _taint(before, after)]
        said = "; ".join(word for word in words if word)
        if said:
            self._telling.say(f"{after.name}: {said}")

    def _amount(self, before: NodeView | None, after: NodeView) -> str:
        old = None if before is None else allocatable_mib(before, self._resource)
        new = allocatable_mib(after, self._resource)
        if old == new:
            return ""
        if new is None:
            return f"{old} MiB withdrawn"
        return f"{new} MiB advertised" if old is None else f"{old} -> {new} MiB"

    def _reason(self, before: NodeView | None, after: NodeView) -> str:
        old = before.condition if before is not None else None
        new = after.condition
        if (
            new is None
            or old == new
            or (old is not None and old.reason == new.reason and not self._amount(before, after))
        ):
            return ""
        return _said(new)


def _slots(before: NodeView | None, after: NodeView) -> str:
    """Of nodes that have a profile; others offer their GPUs once, as ever."""
    old, new = 0 if before is None else offered(before), offered(after)
    return f"{old} -> {new} slots" if old != new and after.sharing_condition is not None else ""


def _sharing(before: NodeView | None, after: NodeView) -> str:
    old = before.sharing_condition if before is not None else None
    new = after.sharing_condition
    return "" if new is None or (old is not None and old.reason == new.reason) else _said(new)


def _said(condition: Condition) -> str:
    text = condition.message
    return f"{condition.reason}: {text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}"


def _taint(before: NodeView | None, after: NodeView) -> str:
    if before is not None and before.has_startup_taint and not after.has_startup_taint:
        return "the startup taint is gone, pods may come"
    return ""
