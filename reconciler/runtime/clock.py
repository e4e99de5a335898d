"""What time is it? Asked of an argument, so that tests may bend it."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio


class Clock(Protocol):
    """Wall-clock time, always aware and in UTC."""

    def now(self) -> datetime: ...


class LoopClock:
    """Wall time that moves with the event loop's clock: on a virtual loop an hour passes in no time."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._loop_start: float | None = None

    def now(self) -> datetime:
        if self._loop_start is None:
            self._loop_start = anyio.current_time()
        return (self._start + timedelta(seconds=anyio.current_time() - self._loop_start)).astimezone(UTC)
