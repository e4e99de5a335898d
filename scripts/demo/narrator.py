"""How does a change of a node read as a sentence? In the controller's own words, from the node's condition."""

from reconciler.model.node import NodeView
from scripts.demo.board import allocatable_mib
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
        words = [self._amount(before, after), self._reason(before, after), _taint(before, after)]
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
        text = new.message if len(new.message) <= LONGEST else new.message[: LONGEST - 1] + "…"
        return f"{new.reason}: {text}"


def _taint(before: NodeView | None, after: NodeView) -> str:
    if before is not None and before.has_startup_taint and not after.has_startup_taint:
        return "the startup taint is gone, pods may come"
    return ""
