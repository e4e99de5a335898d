"""A small cluster on virtual time, for the stories of the Kubernetes door."""

import functools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, ParamSpec

import anyio

from reconciler.kube.trouble import Trouble
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.clock import LoopClock
from reconciler.runtime.transport import Request, Response
from reconciler.sandbox.api import Api
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.encoding import decode, encode
from reconciler.sandbox.faults import Faults
from reconciler.sandbox.memory import MemoryTransport
from reconciler.sandbox.record import Record
from reconciler.sandbox.store import Store

P = ParamSpec("P")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEADY = Backoff(lambda: 0.5, first=0.5, longest=30.0)
"""Waits without chance."""

LONGEST_STORY = 3 * 3600.0
"""Virtual seconds: a story that waits for what never comes ends here, and not at the test's real time limit."""

MERGE = "application/merge-patch+json"


def virtual(story: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test on virtual time: hours pass in no time, and the order of things is the same each time."""

    async def bounded(*args: P.args, **kwargs: P.kwargs) -> None:
        with anyio.fail_after(LONGEST_STORY):
            await story(*args, **kwargs)

    @functools.wraps(story)
    def test(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtual(lambda: bounded(*args, **kwargs))

    return test


class World:
    """One API server, an administrator's hands, and a transport for the part under test."""

    def __init__(self, *, history: int = 4096, seed: int = 0) -> None:
        self.clock = LoopClock(START)
        self.store = Store(self.clock.now, history=history)
        self.api = Api(self.store)
        self.faults = Faults(seed=seed, on_change=self._wake)
        self.record = Record()
        self.transport = self.user("ours")
        self.troubles: list[Trouble] = []

    def user(self, name: str) -> MemoryTransport:
        return MemoryTransport(self.api, name, faults=self.faults, record=self.record)

    def report(self, trouble: Trouble) -> None:
        self.troubles.append(trouble)

    def calls(self) -> list[str]:
        """What the part under test asked for, oldest first."""
        return [
            f"{'WATCH' if call.watch else call.method} {call.path} {call.status}" for call in self.record.of("ours")
        ]

    def do(self, method: str, path: str, body: Any = None, content_type: str = "") -> dict[str, Any]:
        """An administrator's request, which no fault meets; insists that it works."""
        answer = self.api.handle(
            Request(method, path, {}, b"" if body is None else encode(body), content_type, timeout=5)
        )
        assert isinstance(answer, Response)
        assert answer.status < 300, answer.body
        found: dict[str, Any] = decode(answer.body)
        return found

    def node(self, name: str, **fields: Any) -> dict[str, Any]:
        """Create a node; keyword arguments are `labels`, `spec` and `status`."""
        metadata = {"name": name, "labels": fields.get("labels", {})}
        made = self.do("POST", "/api/v1/nodes", {"metadata": metadata, "spec": fields.get("spec", {})})
        if "status" in fields:
            made = self.do("PATCH", f"/api/v1/nodes/{name}/status", {"status": fields["status"]}, MERGE)
        return made

    def merge(self, path: str, change: Any) -> dict[str, Any]:
        return self.do("PATCH", path, change, MERGE)

    def _wake(self) -> None:
        for kind in self.store.kinds():
            self.store.shelf(kind).wake()
