"""The API server refuses, breaks off, falls silent or is away: all ends well, and little is written twice."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest

from reconciler.model import names
from reconciler.model.probe_report import ProbeReason
from reconciler.runtime.clock import LoopClock
from reconciler.sandbox import mishaps
from reconciler.sandbox.faults import Cut, Drop, ErrorEvent, Fault, Late, Lost, Stall, Unreachable
from tests.stories import gpus
from tests.stories.ending import Ending, effective, ending
from tests.stories.gpus import T4_MIB
from tests.stories.stage import OURS, Stage, stage
from tests.stories.telling import virtual

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"
SETTLED = 240.0
"""Seconds after which a join is over in spite of a few faults: the longest back-off is a minute."""

ON_REQUESTS: dict[str, Fault] = {
    "409": mishaps.CONFLICT,
    "429": mishaps.THROTTLED,
    "429 without Retry-After": mishaps.THROTTLED_SILENTLY,
    "500": mishaps.ERROR_500,
    "500 as HTML": mishaps.ERROR_500_HTML,
    "503": mishaps.UNAVAILABLE,
    "no connection": Unreachable(),
    "a lost answer": Lost(),
    "latency": Late(2.0, jitter=5.0),
    "a request that hangs": Late(3600.0),
}
ON_WATCHES: dict[str, Fault] = {
    "dropped": Drop(),
    "cut in mid-line": Cut(),
    "410": ErrorEvent(),
    "500": ErrorEvent(500, "InternalError", "etcdserver: leader changed"),
}


async def join(play: Stage) -> Ending:
    """The story that faults disturb: two nodes, one of them with our startup taint."""
    await play.sandbox.add_node("a", gpus.machine(taints=(STARTUP,)))
    await anyio.sleep(3)
    await play.sandbox.add_node("b", gpus.machine("g5.xlarge"))
    await anyio.sleep(SETTLED)
    assert play.restless() == []
    return ending(play)


UNDISTURBED: list[Ending] = []


@pytest.fixture
def undisturbed() -> Ending:
    """How the story ends without faults; told once."""
    if not UNDISTURBED:
        _tell()
    return UNDISTURBED[0]


@virtual
async def _tell() -> None:
    async with stage() as play:
        UNDISTURBED.append(await join(play))
        assert effective(play) == {"node": 7, "jobs": 2, "events": 4}


@pytest.mark.parametrize("where", ["/nodes/", "/events", "/jobs", "/configmaps"])
@pytest.mark.parametrize("fault", ON_REQUESTS.values(), ids=ON_REQUESTS.keys())
@virtual
async def test_any_request_may_fail_a_few_times(fault: Fault, where: str, undisturbed: Ending) -> None:
    async with stage() as play:
        rule = play.faults.add(fault, user=OURS, path=where, watch=False, times=3)
        assert await join(play) == undisturbed
        assert rule.met >= 2, "the fault was met"
        done = effective(play)
        assert done["jobs"] <= 2
        assert done["node"] <= 7 + rule.met
        # An event tells what was decided; where the patch failed, the next decision may have other words for it.
        assert done["events"] <= 4 + (rule.met if where == "/nodes/" else 0)
        await play.quiet(0.1)


@pytest.mark.parametrize("fault", [mishaps.ERROR_500, Unreachable(), Late(3600.0)], ids=["500", "off", "silent"])
@virtual
async def test_while_events_cannot_be_written_values_are_right_and_afterwards_all_is_told(fault: Fault) -> None:
    """Other objects may live in another etcd than events. The node keeps saying what was told last."""
    async with stage() as play:
        await play.join()
        outage = play.faults.add(fault, user=OURS, path="/events", method="POST")
        play.answers["a"] = gpus.refusal(ProbeReason.GPU_LOST)
        await play.sandbox.restart_kubelet("a", zero=False, boot_id="second-boot")
        await play.sandbox.add_node("b", gpus.machine())
        await anyio.sleep(120)
        assert (play.advertised("a"), play.reason("a")) == (None, "True/Verified")
        assert (play.advertised("b"), play.reason("b")) == (T4_MIB, "")
        await play.sandbox.restart_kubelet("b", zero=True)
        await anyio.sleep(10)
        assert play.advertised("b") == T4_MIB, "healed within seconds"

        play.faults.remove(outage)
        await anyio.sleep(90)
        assert (play.reason("a"), play.events("a")) == ("False/NoNVML", ["Provisional", "Verified", "NoNVML"])
        assert (play.reason("b"), play.events("b")) == ("True/Verified", ["Verified"])


@pytest.mark.parametrize("where", ["/jobs", "/configmaps"])
@virtual
async def test_what_fails_beside_an_event_does_not_keep_it_from_being_told(where: str) -> None:
    async with stage() as play:
        play.faults.add(mishaps.ERROR_500, user=OURS, path=where, method="POST")
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(SETTLED)
        assert play.events() == ["Provisional"] if where == "/jobs" else ["Provisional", "Verified"]


@pytest.mark.parametrize("fault", ON_WATCHES.values(), ids=ON_WATCHES.keys())
@virtual
async def test_any_watch_may_break_again_and_again(fault: Fault, undisturbed: Ending) -> None:
    async with stage() as play:
        play.faults.add(fault, user=OURS, chance=0.2, times=100)
        assert await join(play) == undisturbed
        assert effective(play)["jobs"] == 2
        play.faults.clear()
        await anyio.sleep(60)
        await play.quiet(0.1)


@pytest.mark.parametrize("fault", ON_REQUESTS.values(), ids=ON_REQUESTS.keys())
@virtual
async def test_watches_may_fail_to_open(fault: Fault, undisturbed: Ending) -> None:
    async with stage() as play:
        play.faults.add(Drop(), user=OURS, times=10)
        play.faults.add(fault, user=OURS, watch=True, times=12)
        assert await join(play) == undisturbed


@virtual
async def test_a_stalled_watch_is_found_out_by_its_silence() -> None:
    async with stage() as play:
        await play.join()
        play.faults.add(Stall(), user=OURS, path="/nodes", times=1)
        await anyio.sleep(5)
        await play.sandbox.restart_kubelet("a", zero=True)
        await anyio.sleep(30)
        assert play.advertised() == 0, "nobody has told us"
        assert silence(play, "ConfigMap") <= 60 < silence(play, "Node"), "and everybody can see it"
        await anyio.sleep(90)
        assert play.advertised() == T4_MIB
        assert silence(play, "Node") <= 60
        await play.quiet(0.1)


def silence(play: Stage, kind: str) -> float:
    """Seconds since the server said anything of this kind, by the controller's own figures."""
    family = f'gpu_reconciler_watch_last_heard_timestamp_seconds{{kind="{kind}"}} '
    page = play.replicas[OURS].metrics.text().decode().splitlines()
    [at] = [float(line.removeprefix(family)) for line in page if line.startswith(family)]
    return play.sandbox.clock.now().timestamp() - at


@virtual
async def test_what_a_watch_missed_is_seen_after_a_410() -> None:
    """Compaction while we are away: the list tells of the node that went and the one that came."""
    async with stage() as play:
        await play.join("gone")
        await play.join("kept")
        outage = play.faults.add(Unreachable(), user=OURS)
        play.faults.add(Drop(), user=OURS, times=6)
        await play.sandbox.delete_node("gone")
        await play.sandbox.add_node("new", gpus.machine())
        await play.sandbox.restart_kubelet("kept", zero=True)
        await anyio.sleep(30)
        for kind in play.sandbox.store.kinds():
            play.sandbox.store.shelf(kind).compact()
        play.faults.remove(outage)
        await anyio.sleep(180)
        assert [play.advertised(name) for name in ("kept", "new")] == [T4_MIB] * 2
        assert [node.name for node in play.replicas[OURS].controller.nodes.all()] == ["kept", "new"]
        await play.quiet(0.1)


@virtual
async def test_an_api_server_that_is_away_for_ten_minutes_at_the_start_is_waited_for(undisturbed: Ending) -> None:
    async with stage(start=False) as play, anyio.create_task_group() as tasks:
        outage = play.faults.add(Unreachable(), user=OURS)
        tasks.start_soon(play.start)
        await anyio.sleep(600)
        play.faults.remove(outage)
        assert await join(play) == undisturbed


@pytest.mark.parametrize("fault", [Unreachable(), mishaps.ERROR_500_HTML, Late(3600.0)], ids=["off", "500", "silent"])
@virtual
async def test_an_api_server_that_is_away_for_ten_minutes_later_costs_nothing(fault: Fault) -> None:
    async with stage() as play:
        await play.join("a")
        before = len(play.writes())
        outage = play.faults.add(fault, user=OURS)
        await play.sandbox.restart_kubelet("a", zero=True)
        await play.sandbox.add_node("b", gpus.machine())
        await anyio.sleep(600)
        tries = len([call for call in play.writes()[before:] if "/nodes/a" in call.path])
        assert tries <= 25, "with back-off"
        play.faults.remove(outage)
        await anyio.sleep(150)
        assert [play.advertised(name) for name in "ab"] == [T4_MIB] * 2
        assert play.reason("b") == "True/Verified"
        assert len(play.jobs()) == 1
        await play.quiet(0.2)


@virtual
async def test_all_faults_at_once_for_a_while_end_as_if_nothing_had_been(undisturbed: Ending) -> None:
    for seed in range(3):
        async with stage(seed=seed) as play:
            for fault in [*ON_REQUESTS.values(), *ON_WATCHES.values()]:
                if not isinstance(fault, Late):
                    play.faults.add(fault, user=OURS, chance=0.04, times=40)
            assert await join(play) == undisturbed
            assert effective(play)["jobs"] == 2


@pytest.mark.parametrize("jump", [-3600, 3600])
@virtual
async def test_a_wall_clock_that_jumps_an_hour_changes_nothing(jump: int, undisturbed: Ending) -> None:
    async with stage(start=False) as play:
        clock = Jumping()
        await play.start(clock=clock)
        await play.sandbox.add_node("a", gpus.machine(taints=(STARTUP,)))
        await anyio.sleep(2)
        clock.jump = timedelta(seconds=jump)
        await anyio.sleep(1)
        await play.sandbox.add_node("b", gpus.machine("g5.xlarge"))
        await anyio.sleep(SETTLED)
        assert ending(play) == undisturbed
        clock.jump = timedelta()
        await anyio.sleep(700)  # EC2's answers that are from the future now are asked for again
        await play.quiet(0.5)
        assert ending(play).nodes == undisturbed.nodes


class Jumping:
    """The controller's own wall clock, which somebody sets."""

    def __init__(self) -> None:
        self.jump = timedelta()
        self._steady = LoopClock(datetime(2026, 1, 5, 8, tzinfo=UTC))

    def now(self) -> datetime:
        return self._steady.now() + self.jump
