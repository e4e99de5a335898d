"""Has what we wrote on a node come back to us? Until then the node looks as if all that were still to be written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import anyio

from reconciler.model.node import NodeName, NodeView
from reconciler.model.plan import Action, Done, Outcome, RunProbe
from reconciler.model.probe_state import ProbeState

LONGEST = 2.0
"""Seconds. An echo takes milliseconds; a watch that is broken must not keep a node waiting for long."""
_A_MOMENT = 0.001
"""Seconds. What is left less than that is over: rounded to nothing it would be waited for in a circle."""


@dataclass(frozen=True, slots=True)
class _Awaited:
    node_uid: str
    until: float
    version: str
    """Of the node, after our last patch; empty: none was made."""
    probe: ProbeState | None
    """How the probe stood before its Job was made; None: none was made."""


class Echoes:
    """Pass by pass: what was written, and whether it shows. Times are the event loop's."""

    def __init__(self) -> None:
        self._awaited: dict[NodeName, _Awaited] = {}

    def wrote(self, node: NodeView, probe: ProbeState, actions: Sequence[Action], outcomes: Sequence[Outcome]) -> None:
        """A pass that saw the node and its probe so has carried out these actions, or the first of them."""
        pairs = [(action, outcome) for action, outcome in zip(actions, outcomes, strict=False)]
        versions = [outcome.version for _, outcome in pairs if isinstance(outcome, Done) and outcome.version]
        started = any(isinstance(action, RunProbe) and isinstance(outcome, Done) for action, outcome in pairs)
        if versions or started:
            until = anyio.current_time() + LONGEST
            self._awaited[node.name] = _Awaited(
                node.key.uid, until, versions[-1] if versions else "", probe if started else None
            )

    def left(self, node: NodeView, probe: ProbeState) -> timedelta | None:
        """How long to wait at most; None: what is seen is not older than what we wrote."""
        awaited = self._awaited.get(node.name)
        if awaited is None:
            return None
        left = awaited.until - anyio.current_time()
        shows = _reached(node.resource_version, awaited.version) and awaited.probe != probe
        if left < _A_MOMENT or shows or node.key.uid != awaited.node_uid:
            del self._awaited[node.name]
            return None
        return timedelta(seconds=left)

    def gone(self, name: NodeName) -> None:
        self._awaited.pop(name, None)


def _reached(seen: str, written: str) -> bool:
    """Versions are numbers that grow (etcd's revision; a promise of the API since Kubernetes 1.35, KEP 5504)."""
    if seen.isdecimal() and written.isdecimal():
        return int(seen) >= int(written)
    return written in ("", seen)
