"""The process dies with any request, and the next one ends where an undisturbed one would have (invariant I3)."""

import anyio
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.model import names
from reconciler.sandbox.kinds import JOBS
from reconciler.sandbox.machine import Machine
from tests.stories import gpus
from tests.stories.ending import Ending, ending
from tests.stories.stage import NAMESPACE, Stage, stage
from tests.stories.telling import virtual

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"
SETTLED = 150.0
AFTER_TTL = 700.0
"""Seconds until Kubernetes has removed an ended probe."""
LIFE = 8.0
"""Seconds that the first process has: enough for all of a join."""
REQUESTS = 18
"""At least as many as it makes in that time, watches included; a process that makes fewer dies at its end."""


def node() -> Machine:
    return gpus.machine(taints=(STARTUP, "team=ml:NoSchedule"))


async def told(play: Stage) -> Ending:
    """The end of the story, after the probe and its Job are gone."""
    await anyio.sleep(SETTLED)
    assert play.restless() == []
    jobs = [call for name in play.replicas for call in play.writes(name) if call.path.endswith("/jobs")]
    assert len({call.body for call in jobs}) == 1, "one name, however often it was asked for"
    assert len(play.jobs()) <= 1
    await anyio.sleep(AFTER_TTL - SETTLED)
    assert play.jobs() == []
    assert play.probe_pods() == []
    return ending(play)


UNDISTURBED: list[Ending] = []


@pytest.fixture(scope="module")
def undisturbed() -> Ending:
    _tell()
    return UNDISTURBED[0]


@virtual
async def _tell() -> None:
    async with stage() as play:
        await anyio.sleep(1)
        await play.sandbox.add_node("a", node())
        await anyio.sleep(LIFE - 1)
        assert play.replicas["ours"].transport.requests in (REQUESTS - 1, REQUESTS)
        UNDISTURBED.append(await told(play))


@pytest.mark.parametrize("request_number", range(1, REQUESTS + 1))
def test_a_process_that_dies_with_any_request_is_continued_by_the_next(
    request_number: int, undisturbed: Ending
) -> None:
    assert _dies_with(request_number) == undisturbed


def _dies_with(number: int) -> Ending:
    found: list[Ending] = []

    @virtual
    async def tell() -> None:
        async with stage(start=False) as play, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: play.start("first", dies_with=number))
            await anyio.sleep(1)
            await play.sandbox.add_node("a", node())
            await anyio.sleep(LIFE - 1)
            play.replicas["first"].kill()
            await play.start("second")
            found.append(await told(play))
            assert [call for call in play.writes("second") if call.status == 422] == []

    tell()
    return found[0]


@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.lists(st.floats(0.0, LIFE), min_size=1, max_size=4))
def test_processes_that_die_at_any_moment_are_continued(lives: list[float]) -> None:
    """Also between two requests: while waiting, or in the middle of a thought."""
    if not UNDISTURBED:
        _tell()
    found: list[Ending] = []

    @virtual
    async def tell() -> None:
        async with stage(start=False) as play:
            await play.sandbox.add_node("a", node())
            for number, life in enumerate(lives):
                replica = await play.start(f"r{number}")
                await anyio.sleep(life)
                replica.kill()
            await play.start("last")
            found.append(await told(play))

    tell()
    assert found == UNDISTURBED


@virtual
async def test_a_crash_that_loses_the_namespace_s_jobs_is_no_loss() -> None:
    """Somebody tidies up while nobody runs: what stands on the node is enough."""
    async with stage() as play:
        await play.join()
        play.replicas["ours"].kill()
        for job in play.jobs():
            await play.admin.delete(JOBS, NAMESPACE, job["metadata"]["name"])
        await play.start("later")
        await anyio.sleep(60)
        assert play.reason() == "True/Verified"
        assert play.writes("later") == []
