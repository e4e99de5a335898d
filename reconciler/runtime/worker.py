"""What follows from a turn? The one place that turns results and failures into forget, revisit, or back off.

It catches everything: an unknown failure is logged with its traceback, counted, and retried with
back-off, so that one bad object never stops the others.
"""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

import anyio

from reconciler.runtime.backoff import Backoff
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Pass:
    """What one turn came to. `notes` go into the log line as they are."""

    revisit: timedelta | None = None
    notes: tuple[tuple[str, Any], ...] = ()
    quiet: bool = False
    """Nothing was done and nothing changed: not worth a line at the usual level."""


class PassLog(Protocol):
    """Who is told of each turn. `result` is one word: done, stale, gone, unavailable, forbidden, rejected, failed."""

    def passed(self, loop: str, key: str, result: str, seconds: float, notes: tuple[tuple[str, Any], ...]) -> None: ...

    def failed(self, loop: str, key: str, error: Exception) -> None: ...


class Worker(Generic[K]):
    """Takes keys from a queue, one turn at a time; run several for several at once."""

    def __init__(
        self,
        loop: str,
        queue: WorkQueue[K],
        reconcile: Callable[[K], Awaitable[Pass]],
        backoff: Backoff,
        log: PassLog,
    ) -> None:
        self._loop = loop
        self._queue = queue
        self._reconcile = reconcile
        self._backoff = backoff
        self._log = log
        self._failures: dict[K, int] = {}

    async def run(self) -> None:
        """Work until cancelled; the key of a turn that was cut off waits in the queue again."""
        while True:
            key = await self._queue.take()
            try:
                await self.turn(key)
            except anyio.get_cancelled_exc_class():
                # A term as leader ended in the middle of the turn: what it was about waits for the next term.
                self._queue.add(key)
                raise
            finally:
                self._queue.done(key)

    async def turn(self, key: K) -> bool:
        """One pass for one key; says whether it ended well. Never raises, but for cancellation."""
        started = anyio.current_time()
        notes: tuple[tuple[str, Any], ...] = ()
        again: float | None
        try:
            passed = await self._reconcile(key)
        except Stale as error:
            # At once, but not in a circle: the view that was decided on may need a moment to arrive.
            result, again, notes = "stale", self._retry(key), (("why", str(error)),)
        except Gone as error:
            result, again, notes = "gone", None, (("why", str(error)),)
        except Unavailable as error:
            result, notes = "unavailable", (("why", str(error)),)
            again = max(error.after or 0.0, self._retry(key))
        except Forbidden as error:
            result, again, notes = "forbidden", self._backoff.longest, (("why", str(error)),)
        except Rejected as error:
            result, again, notes = "rejected", self._backoff.longest, (("why", str(error)),)
        except Exception as error:
            result, again = "failed", self._retry(key)
            self._log.failed(self._loop, str(key), error)
        else:
            self._failures.pop(key, None)
            result, notes = ("quiet" if passed.quiet else "done"), passed.notes
            again = passed.revisit.total_seconds() if passed.revisit is not None else None
        if again is None:
            self._failures.pop(key, None)
        else:
            self._queue.add_after(key, again)
            notes = (*notes, ("again_in", round(again, 1)))
        self._log.passed(self._loop, str(key), result, anyio.current_time() - started, notes)
        return result in ("done", "quiet", "gone")

    def _retry(self, key: K) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._backoff.wait(failures)
