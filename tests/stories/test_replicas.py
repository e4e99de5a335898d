"""Two replicas: one leads, the other takes over, and no write comes after its writer's time (invariant I4)."""

from datetime import timedelta

import anyio
import pytest

from reconciler.kube.catalog_entries import LEARNED
from reconciler.kube.lease import LeaseTimes
from reconciler.sandbox.cluster import eventually
from reconciler.sandbox.faults import Fault, Late, Unreachable
from reconciler.sandbox.kinds import CONFIGMAPS
from reconciler.sandbox.mishaps import ERROR_500_HTML
from reconciler.sandbox.record import Call
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.stage import NAMESPACE, Stage, stage
from tests.stories.telling import virtual

TIMES = LeaseTimes()
TAKE_OVER = TIMES.duration + 2 * TIMES.retry * 1.2
"""Seconds from a leader's death to the next one's first look."""


def writes_out_of_time(play: Stage, name: str) -> list[Call]:
    """Writes that began later than the renew deadline after the last renewal that was sent before them."""
    late = []
    renewed = None
    for call in play.sandbox.record.writes(name):
        if "/leases" in call.path:
            if call.status in (200, 201):
                renewed = call.at
        elif renewed is None or call.at - renewed > timedelta(seconds=TIMES.renew_within):
            late.append(call)
    return late


def jobs_made(play: Stage) -> int:
    made = [call for name in play.replicas for call in play.writes(name) if call.path.endswith("/jobs")]
    return sum(call.status == 201 for call in made)


async def two(play: Stage) -> tuple[str, str]:
    """Start two replicas; says who leads and who waits."""
    await play.start("one", leased=True)
    await play.start("two", leased=True)
    await anyio.sleep(10)
    leading = [name for name, replica in play.replicas.items() if replica.lease.leading]
    assert len(leading) == 1
    waiting = next(name for name in play.replicas if name not in leading)
    return leading[0], waiting


@virtual
async def test_only_the_leader_writes_and_the_other_keeps_itself_informed() -> None:
    async with stage(start=False) as play:
        leader, other = await two(play)
        await play.join()
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        assert play.writes(leader)
        assert play.writes(other) == []
        assert len(play.replicas[other].controller.nodes) == 1
        await play.quiet(0.3, who=leader)
        assert play.writes(other) == []


@virtual
async def test_a_leader_that_dies_between_two_calls_is_replaced_and_its_work_ends() -> None:
    async with stage(start=False) as play:
        leader, other = await two(play)
        await play.sandbox.add_node("a", gpus.machine())
        await eventually(play.jobs, "the probe is on its way", every=0.01)
        play.replicas[leader].kill()
        await play.sandbox.restart_kubelet("a", zero=True)
        await eventually(lambda: play.advertised() == T4_MIB, "the other has taken over", TAKE_OVER + 1)
        await anyio.sleep(60)
        assert play.reason() == "True/Verified"
        assert jobs_made(play) == 1, "no second probe"
        assert [writes_out_of_time(play, name) for name in (leader, other)] == [[], []]
        await play.quiet(0.2, who=other)


@virtual
async def test_a_leader_that_is_told_to_stop_hands_over_within_seconds() -> None:
    async with stage(start=False) as play:
        leader, other = await two(play)
        await play.join()
        play.replicas[leader].stop()
        await anyio.sleep(TIMES.retry * 1.2 + 0.5)
        assert play.replicas[other].lease.leading
        await play.join("b")
        assert play.reason("b") == "True/Verified"
        assert [name for name in play.replicas if play.writes(name)] == [leader, other]


@pytest.mark.parametrize("fault", [Unreachable(), ERROR_500_HTML, Late(3600.0)], ids=["no route", "500", "silence"])
@virtual
async def test_a_leader_that_is_cut_off_stops_in_time_and_takes_part_again_later(fault: Fault) -> None:
    async with stage(start=False) as play:
        leader, other = await two(play)
        await play.join()
        cut = play.faults.add(fault, user=leader)
        for number in range(5):
            await play.sandbox.restart_kubelet("a", zero=True)
            await play.sandbox.add_node(f"n{number}", gpus.machine())
            await anyio.sleep(6)
        await anyio.sleep(60)
        assert play.replicas[other].lease.leading
        assert not play.replicas[leader].lease.leading
        play.faults.remove(cut)
        await anyio.sleep(120)
        assert {play.advertised(f"n{number}") for number in range(5)} == {T4_MIB}
        assert [writes_out_of_time(play, name) for name in (leader, other)] == [[], []]
        assert jobs_made(play) == 6, "one probe a node"

        play.replicas[other].kill()
        await anyio.sleep(TAKE_OVER)
        assert play.replicas[leader].lease.leading
        await play.sandbox.restart_kubelet("a", zero=True)
        await anyio.sleep(10)
        assert play.advertised() == T4_MIB


@virtual
async def test_a_leader_whose_writes_hang_does_not_finish_them_after_its_time() -> None:
    """The write is on its way when the lease is lost: it is given up before another may lead."""
    async with stage(start=False) as play:
        leader, other = await two(play)
        await play.join()
        play.faults.add(Late(9.0), user=leader, path="/nodes/")
        play.faults.add(Unreachable(), user=leader, path="/leases")
        await play.sandbox.restart_kubelet("a", zero=True)
        await anyio.sleep(120)
        assert play.advertised() == T4_MIB
        assert play.replicas[other].lease.leading
        assert [writes_out_of_time(play, name) for name in (leader, other)] == [[], []]


@virtual
async def test_a_leader_that_loses_its_term_in_the_middle_of_a_turn_takes_that_turn_up_again() -> None:
    """Nobody else is there to do it, and nothing happens to the node that would bring its key round again."""
    async with stage(start=False) as play:
        await play.start("one", leased=True)
        await anyio.sleep(10)
        await play.join()
        hung = play.faults.add(Late(3600.0), user="one", path="/nodes/")
        cut = play.faults.add(Unreachable(), user="one", path="/leases")
        await play.set_resource("a", 1)
        await eventually(lambda: not play.replicas["one"].lease.leading, "its term has ended", 60)
        assert play.advertised() == 1
        play.faults.remove(hung)
        play.faults.remove(cut)
        await eventually(lambda: play.replicas["one"].lease.leading, "it leads again", TAKE_OVER + 30)
        await anyio.sleep(5)
        assert play.advertised() == T4_MIB
        assert [leads for _, leads in play.replicas["one"].terms] == [True, False, True]


@virtual
async def test_a_leader_that_leads_again_shows_every_node_again() -> None:
    """What it showed of nodes went with its term, and nothing happens to a node that would bring it back."""
    async with stage(start=False) as play:
        one = await play.start("one", leased=True)
        await anyio.sleep(5)
        await play.join()
        cut = play.faults.add(Unreachable(), user="one", path="/leases")
        await eventually(lambda: not one.lease.leading, "its term has ended", 60)
        one.metrics.leading(False)
        play.faults.remove(cut)
        await eventually(lambda: one.lease.leading, "it leads again", TAKE_OVER + 30)
        await anyio.sleep(5)
        assert 'gpu_reconciler_node_verdict{instance_type="g4dn.xlarge",node="a"' in one.metrics.text().decode()


@virtual
async def test_what_the_end_of_a_term_cut_short_is_taken_up_in_the_next_one() -> None:
    """The lease is lost while a deleted catalog is being written anew: no event tells of that again."""
    async with stage(start=False) as play:
        one = await play.start("one", leased=True)
        await anyio.sleep(5)
        await play.join()
        play.faults.add(Late(25.0), user="one", path="/configmaps", watch=False, times=1)
        await play.admin.delete(CONFIGMAPS, NAMESPACE, "gpu-reconciler-catalog")
        cut = play.faults.add(Unreachable(), user="one", path="/leases")
        await anyio.sleep(15)
        assert [leads for _, leads in one.terms] == [True, False]
        play.faults.remove(cut)
        await anyio.sleep(180)
        assert [leads for _, leads in one.terms] == [True, False, True]
        assert f"{LEARNED}g4dn.xlarge" in play.catalog()


@pytest.mark.parametrize("slow", [0.0, 4.0, 9.5])
@virtual
async def test_loops_that_do_not_hear_of_the_end_of_their_term_are_held_by_the_fence(slow: float) -> None:
    """The term is not cancelled here, as if the process had been asleep: each write asks for itself."""
    async with stage(start=False) as play, anyio.create_task_group() as tasks:
        deaf = await play.start("deaf", leased=True, works=False)
        tasks.start_soon(deaf.lease.run)
        tasks.start_soon(deaf.controller.work)
        await play.join()
        assert play.advertised() == T4_MIB
        play.faults.add(Unreachable(), user="deaf", path="/leases")
        if slow:
            play.faults.add(Late(slow), user="deaf", path="/nodes/")
        for _ in range(20):
            await play.sandbox.restart_kubelet("a", zero=True)
            await anyio.sleep(3)
        assert play.advertised() == 0
        assert writes_out_of_time(play, "deaf") == []
        tasks.cancel_scope.cancel()


@virtual
async def test_leaders_that_die_again_and_again_leave_one_probe_and_no_mess() -> None:
    async with stage(start=False) as play:
        await play.start("r0", leased=True)
        await anyio.sleep(5)
        await play.sandbox.add_node("a", gpus.machine())
        for number in range(1, 6):
            await anyio.sleep(0.7 * number)
            await play.start(f"r{number}", leased=True)
            play.replicas[f"r{number - 1}"].kill()
            await anyio.sleep(TAKE_OVER)
        await anyio.sleep(60)
        assert (play.advertised(), play.reason(), jobs_made(play)) == (T4_MIB, "True/Verified", 1)
        assert all(writes_out_of_time(play, name) == [] for name in play.replicas)
        await anyio.sleep(700)
        assert play.jobs() == []
        await play.quiet(0.2, who="r5")
