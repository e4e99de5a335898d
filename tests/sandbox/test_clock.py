"""sandbox/clock: virtual time."""

import asyncio
import random
import time

import anyio
import anyio.to_thread
import pytest

from reconciler.sandbox.clock import Deadlock, run_virtual


def test_an_hour_passes_in_no_time_and_in_order() -> None:
    async def main() -> list[tuple[float, str]]:
        seen: list[tuple[float, str]] = []

        async def wake(seconds: float, name: str) -> None:
            await anyio.sleep(seconds)
            seen.append((anyio.current_time(), name))

        async with anyio.create_task_group() as group:
            for seconds, name in ((3600.0, "late"), (0.5, "early"), (60.0, "middle")):
                group.start_soon(wake, seconds, name)
        return seen

    began = time.monotonic()
    assert run_virtual(main) == [(0.5, "early"), (60.0, "middle"), (3600.0, "late")]
    assert time.monotonic() - began < 5


def test_timeouts_fire_on_virtual_time() -> None:
    async def main() -> float:
        with anyio.move_on_after(30):
            await anyio.sleep_forever()
        return anyio.current_time()

    assert run_virtual(main) == 30


def test_the_seed_decides_about_chance_and_the_generator_is_put_back() -> None:
    async def main() -> float:
        return random.random()

    random.seed(7)
    before = random.getstate()
    assert run_virtual(main, seed=1) == run_virtual(main, seed=1) != run_virtual(main, seed=2)
    assert random.getstate() == before


def test_waiting_for_what_cannot_come_is_a_deadlock_and_not_a_hang() -> None:
    async def main() -> None:
        await anyio.Event().wait()

    for stuck in (main, anyio.sleep_forever):
        with pytest.raises(Deadlock, match="nothing is due"):
            run_virtual(stuck)


def test_sockets_are_refused_with_advice() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="use the in-memory transport"):
            await asyncio.open_connection("127.0.0.1", 9)

    run_virtual(main)
