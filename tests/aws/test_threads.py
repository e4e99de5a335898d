"""aws/threads.py: blocking work beside the event loop."""

import subprocess
import sys
import threading
import time

import anyio
import pytest

from reconciler.aws.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_what_the_work_returns_and_raises_comes_back() -> None:
    async def answer(work: object) -> object:
        assert callable(work)
        return await in_thread(work, anyio.CapacityLimiter(1))

    main = threading.get_ident()
    assert await answer(threading.get_ident) != main
    with pytest.raises(ZeroDivisionError):
        await answer(lambda: 1 // 0)


async def test_no_more_run_at_once_than_the_limit_says() -> None:
    limiter, running, most = anyio.CapacityLimiter(2), 0, 0
    gate = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with gate:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with gate:
            running -= 1

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(in_thread, work, limiter)
    assert most == 2


async def test_a_cancelled_caller_does_not_wait_and_frees_its_place() -> None:
    limiter, over = anyio.CapacityLimiter(1), threading.Event()
    with anyio.move_on_after(0.05) as scope:
        await in_thread(lambda: over.wait(30), limiter)
    assert scope.cancelled_caught
    assert await in_thread(lambda: "next", limiter) == "next"
    over.set()


def test_a_call_that_hangs_does_not_hold_up_the_end_of_the_process() -> None:
    program = (
        "import anyio, time\n"
        "from reconciler.aws.threads import in_thread\n"
        "async def main():\n"
        "    with anyio.move_on_after(0.1):\n"
        "        await in_thread(lambda: time.sleep(300), anyio.CapacityLimiter(1))\n"
        "anyio.run(main)\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)
