"""runtime/workqueue.py: no news is lost and no key is worked on twice at once."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.runtime.workqueue import WorkQueue

pytestmark = pytest.mark.anyio


async def test_a_key_touched_often_waits_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(5):
        queue.add("a")
    queue.add("b")

    assert [await queue.take(), await queue.take()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_touched_during_its_turn_gets_another_turn_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    await queue.take()
    queue.add("a")

    assert len(queue) == 0
    queue.done("a")
    assert await queue.take() == "a"


async def test_a_later_key_comes_when_it_is_due_and_not_before() -> None:
    queue: WorkQueue[str] = WorkQueue()
    start = anyio.current_time()
    queue.add_after("hour", 3600)
    queue.add_after("minute", 60)

    assert await queue.take() == "minute"
    assert anyio.current_time() - start == pytest.approx(60)
    assert await queue.take() == "hour"
    assert anyio.current_time() - start == pytest.approx(3600)


async def test_the_earlier_of_two_appointments_stays_and_the_later_one_is_passed_over() -> None:
    queue: WorkQueue[str] = WorkQueue()
    start = anyio.current_time()
    queue.add_after("a", 60)
    queue.add_after("a", 10)
    queue.add_after("b", 100)

    assert await queue.take() == "a"
    queue.done("a")
    assert await queue.take() == "b"
    assert anyio.current_time() - start == pytest.approx(100)


async def test_an_appointment_made_while_a_taker_sleeps_wakes_it_in_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    start = anyio.current_time()
    taken: list[tuple[str, float]] = []

    async def take() -> None:
        taken.append((await queue.take(), anyio.current_time() - start))

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await anyio.sleep(5)
        queue.add_after("a", 1)

    [(key, at)] = taken
    assert key == "a"
    assert at == pytest.approx(6)


async def test_taking_a_key_cancels_its_appointment() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 10)
    queue.add("a")
    await queue.take()
    queue.done("a")

    with anyio.move_on_after(100) as scope:
        await queue.take()
    assert scope.cancelled_caught


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "later", "work"])), max_size=40))
def test_whatever_the_order_every_touched_key_is_worked_on_after_its_last_touch(steps: list[tuple[str, str]]) -> None:
    """Two workers, any interleaving of touches: afterwards each key's last turn began after its last touch."""

    async def story() -> None:
        queue: WorkQueue[str] = WorkQueue()
        touched: dict[str, float] = {}
        begun: dict[str, float] = {}
        busy: set[str] = set()

        async def work() -> None:
            while True:
                key = await queue.take()
                assert key not in busy
                busy.add(key)
                begun[key] = anyio.current_time()
                await anyio.sleep(0.5)
                busy.discard(key)
                queue.done(key)

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            group.start_soon(work)
            for key, step in steps:
                await anyio.sleep(0.3)
                touched[key] = anyio.current_time()
                if step == "later":
                    queue.add_after(key, 2)
                else:
                    queue.add(key)
            await anyio.sleep(60)
            assert queue.idle
            group.cancel_scope.cancel()
        for key, at in touched.items():
            assert begun[key] >= at

    from trio.testing import MockClock

    anyio.run(story, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})
