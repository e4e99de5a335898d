"""runtime/worker.py: what follows from each kind of turn."""

import itertools
from datetime import timedelta
from typing import Any

import anyio
import pytest

from reconciler.runtime.backoff import Backoff
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.worker import Pass, Worker
from reconciler.runtime.workqueue import WorkQueue

pytestmark = pytest.mark.anyio


class Recorder:
    """Keeps what the worker says."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.errors: list[Exception] = []

    def passed(self, loop: str, key: str, result: str, seconds: float, notes: tuple[tuple[str, Any], ...]) -> None:
        self.results.append(result)

    def failed(self, loop: str, key: str, error: Exception) -> None:
        self.errors.append(error)


class Script:
    """A reconcile that does the next thing of a list, and keeps the times of its turns."""

    def __init__(self, *steps: Pass | Exception) -> None:
        self._steps = list(steps)
        self.at: list[float] = []

    async def __call__(self, key: str) -> Pass:
        self.at.append(anyio.current_time())
        step = self._steps.pop(0) if self._steps else Pass(quiet=True)
        if isinstance(step, Exception):
            raise step
        return step


async def run(script: Script, seconds: float) -> tuple[Recorder, list[float]]:
    """Work on one key for so long; returns what was said and the waits between turns."""
    queue: WorkQueue[str] = WorkQueue()
    log = Recorder()
    queue.add("node")
    start = anyio.current_time()
    with anyio.move_on_after(seconds):
        await Worker("test", queue, script, Backoff(random=lambda: 1.0), log).run()
    times = [start, *script.at]
    return log, [later - earlier for earlier, later in itertools.pairwise(times)]


@pytest.mark.parametrize(
    ("step", "result", "wait"),
    [
        (Pass(revisit=timedelta(minutes=5)), "done", 300),
        (Stale("changed"), "stale", 0.5),
        (Unavailable("busy", after=7), "unavailable", 7),
        (Unavailable("away"), "unavailable", 0.5),
        (Forbidden("patch nodes"), "forbidden", 60),
        (Rejected("bad name"), "rejected", 60),
        (ValueError("a bug"), "failed", 0.5),
    ],
)
async def test_each_result_is_followed_by_its_wait(step: Pass | Exception, result: str, wait: float) -> None:
    log, waits = await run(Script(step), 400)

    assert log.results == [result, "quiet"]
    assert waits == [pytest.approx(0), pytest.approx(wait)]


async def test_a_quiet_pass_and_a_gone_object_are_not_looked_at_again() -> None:
    for step in (Pass(), Gone("deleted")):
        log, waits = await run(Script(step), 3600)
        assert len(log.results) == len(waits) == 1


async def test_failures_in_a_row_wait_twice_as_long_each_up_to_the_longest_and_a_success_starts_afresh() -> None:
    failures = [Unavailable("away") for _ in range(9)]
    script = Script(*failures, Pass(revisit=timedelta(seconds=1)), Unavailable("away"))
    _, waits = await run(script, 600)

    assert waits == pytest.approx([0, 0.5, 1, 2, 4, 8, 16, 32, 60, 60, 1, 0.5])


async def test_an_unknown_failure_is_told_with_its_error_and_does_not_end_the_worker() -> None:
    bug = ValueError("a bug")
    log, _ = await run(Script(bug), 100)

    assert log.errors == [bug]
    assert log.results == ["failed", "quiet"]


async def test_the_key_of_a_turn_that_was_cut_off_is_the_first_thing_that_the_next_term_looks_at() -> None:
    queue: WorkQueue[str] = WorkQueue()
    begun: list[float] = []

    async def reconcile(key: str) -> Pass:
        begun.append(anyio.current_time())
        await anyio.sleep(10)
        return Pass(quiet=True)

    log = Recorder()
    worker = Worker("test", queue, reconcile, Backoff(random=lambda: 1.0), log)
    queue.add("node")
    start = anyio.current_time()
    with anyio.move_on_after(5):
        await worker.run()
    assert (len(queue), queue.idle, log.results) == (1, False, [])

    with anyio.move_on_after(30):
        await worker.run()
    assert [at - start for at in begun] == pytest.approx([0, 5])
    assert (queue.idle, log.results) == (True, ["quiet"])


async def test_a_worker_that_is_stopped_between_turns_leaves_nothing_to_do() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("node")
    with anyio.move_on_after(5):
        await Worker("test", queue, Script(Pass(quiet=True)), Backoff(random=lambda: 1.0), Recorder()).run()

    assert queue.idle
