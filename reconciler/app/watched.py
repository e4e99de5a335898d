"""What do people see of the watches? Their counts, and the loop's time as that of the clock on the wall."""

from collections.abc import Iterable, Iterator
from typing import Any

import anyio

from reconciler.kube.watch import Watcher
from reconciler.runtime.clock import Clock
from reconciler.serve.watch_metrics import Watched


def watched(watchers: Iterable[Watcher[Any]], clock: Clock) -> Iterator[Watched]:
    """One for each watch, as it is now."""
    now, turn = clock.now().timestamp(), anyio.current_time()
    for watcher in watchers:
        counts, heard = watcher.counts, watcher.heard
        at = None if heard is None else now - (turn - heard)
        yield Watched(watcher.source.kind, counts.events, counts.lists, counts.watches, counts.failures, at)
