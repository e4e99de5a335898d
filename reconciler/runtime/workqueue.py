"""Whose turn is it? Keys that want attention, each waiting once however often it was touched.

The contract is that of Kubernetes' client-go work queue: a key is never worked on twice at once, and a key touched
while it is worked on gets another turn afterwards, so no news is lost and none is handled twice.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

import anyio

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """For one event loop. `add` and `add_after` never wait, so a watch may call them for every event."""

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        self._waiting: set[K] = set()
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._due: dict[K, float] = {}
        self._appointments: list[tuple[float, int, K]] = []
        self._order = itertools.count()
        self._wake = anyio.Event()

    def __len__(self) -> int:
        """Keys that could be worked on now."""
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Nothing is ready and nothing is being worked on; keys may still be due later."""
        return not self._ready and not self._busy

    def add(self, key: K) -> None:
        """The key wants attention now."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
            self._signal()

    def add_after(self, key: K, seconds: float) -> None:
        """The key wants attention at the latest after so many seconds; an earlier appointment stays."""
        due = anyio.current_time() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            # An appointment that an earlier one replaced stays in the heap and is passed over when its time comes.
            heapq.heappush(self._appointments, (due, next(self._order), key))
            self._signal()

    async def take(self) -> K:
        """The next key, which is then busy until `done`. Waits as long as there is none."""
        while True:
            self._promote()
            if self._ready:
                key = self._ready.popleft()
                self._waiting.discard(key)
                self._busy.add(key)
                self._due.pop(key, None)
                return key
            with anyio.move_on_at(self._appointments[0][0] if self._appointments else float("inf")):
                await self._wake.wait()

    def done(self, key: K) -> None:
        """The key's turn is over."""
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _promote(self) -> None:
        now = anyio.current_time()
        while self._appointments and self._appointments[0][0] <= now:
            due, _, key = heapq.heappop(self._appointments)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    def _signal(self) -> None:
        self._wake.set()
        self._wake = anyio.Event()
