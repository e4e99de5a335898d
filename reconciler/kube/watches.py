"""How do several watches run as one? Made alike, started together, and known to be complete together."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskStatus

from reconciler.kube.news import News
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Report
from reconciler.kube.watch import Pace, Watcher
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.transport import Transport

V = TypeVar("V")


class Watches:
    """Begun in the order in which they were added."""

    def __init__(self, transport: Transport, *, backoff: Backoff, report: Report, pace: Pace) -> None:
        self._transport = transport
        self._backoff = backoff
        self._report = report
        self._pace = pace
        self._all: list[Watcher[Any]] = []

    def add(self, source: Source[V], sink: Callable[[News[V]], None]) -> Watcher[V]:
        """One more, to be run with the others."""
        watcher = Watcher(self._transport, source, sink, backoff=self._backoff, report=self._report, pace=self._pace)
        self._all.append(watcher)
        return watcher

    def __iter__(self) -> Iterator[Watcher[Any]]:
        return iter(self._all)

    @property
    def unsynced(self) -> Sequence[str]:
        """The kinds that have not been read yet; empty once all that was there at first is known."""
        return [watcher.source.kind for watcher in self._all if not watcher.synced.is_set()]

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the cluster until cancelled; `started` once all that was there at first is known."""
        async with anyio.create_task_group() as group:
            for watcher in self._all:
                group.start_soon(watcher.run)
            for watcher in self._all:
                await watcher.synced.wait()
            task_status.started()
