"""How does an hour pass in no time? An asyncio loop whose selector moves the clock instead of waiting."""

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


HORIZON = 366 * 86_400.0
"""Virtual seconds after which a story counts as stuck: a sleep for ever is a timer that is set again every day."""


class Deadlock(RuntimeError):
    """Nothing is left that time could bring: every task waits for another."""


class _Selector(selectors.BaseSelector):
    """Never waits. The loop's own wake-up socket may register; any other is refused, since no real byte ever comes."""

    def __init__(self, horizon: float) -> None:
        self.time = 0.0
        self._horizon = horizon
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self._keys:
            raise RuntimeError(
                "no sockets, pipes or processes on virtual time: use the in-memory transport, or a real loop"
            )
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self._keys[fileobj] = key = selectors.SelectorKey(fileobj, number, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or self.time > self._horizon:
            raise Deadlock("on virtual time nothing is due and nothing can come from outside: threads do not work here")
        self.time += max(timeout, 0.0)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time, which begins at 0."""

    def __init__(self, horizon: float = HORIZON) -> None:
        self._virtual = _Selector(horizon)
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.time


def run_virtual(main: Callable[[], Awaitable[T]], *, seed: int = 0) -> T:
    """Run `main` on virtual time, with the global random generator seeded and put back afterwards."""
    before = random.getstate()
    random.seed(seed)

    async def whole() -> T:
        return await main()

    try:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(whole())
    finally:
        random.setstate(before)
