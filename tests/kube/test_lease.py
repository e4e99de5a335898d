"""kube/lease: at most one replica may write at any moment, and a lost one is replaced within the lease's time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest

from reconciler.kube.fence import NotLeader
from reconciler.kube.lease import Lease, LeaseTimes
from reconciler.runtime.clock import Clock, LoopClock
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer, Late, Unreachable
from reconciler.sandbox.mishaps import CONFLICT, ERROR_500_HTML, THROTTLED
from tests.kube.world import START, World, virtual

PATH = "/apis/coordination.k8s.io/v1/namespaces/gpu/leases"
TIMES = LeaseTimes()


class Candidate:
    """One replica with its own clock, and what it was told."""

    def __init__(self, world: World, name: str, clock: Clock | None = None) -> None:
        self.turns: list[bool] = []
        self.lease = Lease(
            world.user(name),
            namespace="gpu",
            name="gpu-reconciler",
            identity=name,
            clock=clock if clock is not None else world.clock,
            random=lambda: 0.5,
            report=world.report,
            changed=self.turns.append,
        )

    @property
    def may_write(self) -> bool:
        try:
            return self.lease.fence() > 0
        except NotLeader:
            return False


@asynccontextmanager
async def running(*candidates: Candidate) -> AsyncIterator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as tasks:
        for candidate in candidates:
            tasks.start_soon(candidate.lease.run)
        yield tasks
        tasks.cancel_scope.cancel()


def cluster() -> World:
    world = World()
    world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "gpu"}})
    return world


async def never_two(first: Candidate, second: Candidate) -> None:
    while True:
        assert not (first.may_write and second.may_write)
        await anyio.sleep(0.23)


@virtual
async def test_the_first_candidate_leads_and_the_second_waits() -> None:
    world = cluster()
    a, b = Candidate(world, "a"), Candidate(world, "b")
    async with running(a, b) as tasks:
        tasks.start_soon(never_two, a, b)
        await anyio.sleep(600)

        assert (a.turns, b.turns) == ([True], [])
        assert b.lease.holder == "a"
        assert spec(world)["leaseTransitions"] == 0


@virtual
async def test_whoever_stops_gives_the_lease_back_and_the_next_begins_at_once() -> None:
    world = cluster()
    a, b = Candidate(world, "a"), Candidate(world, "b")
    async with anyio.create_task_group() as tasks:
        async with a.lease.candidacy() as lease:
            await lease.gained()
            tasks.start_soon(b.lease.run)
            await anyio.sleep(60)
            assert not b.may_write
        assert not a.may_write
        with anyio.fail_after(TIMES.retry * 1.2 + 0.5):
            await b.lease.gained()
        tasks.cancel_scope.cancel()

    assert a.turns == [True, False]
    assert spec(world)["leaseTransitions"] == 1


@pytest.mark.parametrize("skew", [-3600, 0, 3600])
@virtual
async def test_a_leader_that_dies_is_replaced_after_its_time_whatever_the_clocks_say(skew: int) -> None:
    """Judged by change, by our own clock, and not by the times of another machine."""
    world = cluster()
    a = Candidate(world, "a", LoopClock(START + timedelta(seconds=skew)))
    b = Candidate(world, "b")
    async with running(a) as tasks:
        await a.lease.gained()
        tasks.start_soon(b.lease.run)
        tasks.start_soon(never_two, a, b)
        await anyio.sleep(60)
        world.faults.add(Unreachable(), user="a")
        died = anyio.current_time()
        await b.lease.gained()
        took = anyio.current_time() - died

    assert TIMES.duration - TIMES.retry * 1.2 <= took <= TIMES.duration + 2 * TIMES.retry * 1.2


@pytest.mark.parametrize("fault", [Unreachable(), Late(3600.0), ERROR_500_HTML, THROTTLED])
@virtual
async def test_a_leader_that_cannot_renew_stops_writing_before_anybody_else_may_begin(fault: Any) -> None:
    """Invariant I4, also when the request hangs."""
    world = cluster()
    a = Candidate(world, "a")
    async with running(a):
        await a.lease.gained()
        await anyio.sleep(30)
        left = a.lease.fence()
        cut_off = anyio.current_time()
        world.faults.add(fault, user="a")
        await a.lease.lost()
        held = anyio.current_time() - cut_off

        assert held <= left + 0.2 <= TIMES.renew_within + 0.2
        assert not a.may_write
        world.faults.clear()
        with anyio.fail_after(30):
            await a.lease.gained()


@virtual
async def test_a_renewal_that_fails_once_loses_nothing() -> None:
    world = cluster()
    a = Candidate(world, "a")
    async with running(a):
        await a.lease.gained()
        for fault in (Unreachable(), Late(4.0), CONFLICT, ERROR_500_HTML):
            world.faults.add(fault, user="a", times=1)
            await anyio.sleep(30)

        assert a.turns == [True]


@virtual
async def test_a_foreign_label_on_the_lease_is_kept_and_costs_no_leadership() -> None:
    world = cluster()
    a = Candidate(world, "a")
    async with running(a):
        await a.lease.gained()
        world.merge(f"{PATH}/gpu-reconciler", {"metadata": {"labels": {"app": "x"}}})
        await anyio.sleep(30)

        assert a.turns == [True]
        assert world.do("GET", f"{PATH}/gpu-reconciler")["metadata"]["labels"] == {"app": "x"}


@virtual
async def test_a_lease_that_an_administrator_hands_to_another_is_let_go() -> None:
    world = cluster()
    a = Candidate(world, "a")
    async with running(a):
        await a.lease.gained()
        world.merge(f"{PATH}/gpu-reconciler", {"spec": {"holderIdentity": "somebody"}})
        with anyio.fail_after(10):
            await a.lease.lost()
        assert a.lease.holder == "somebody"

        await anyio.sleep(30)
        assert a.may_write, "somebody never renewed it"


@virtual
async def test_a_lease_that_vanishes_does_not_make_two_leaders() -> None:
    """A follower that knew of a leader waits its time, as if the lease were still there."""
    world = cluster()
    a, b = Candidate(world, "a"), Candidate(world, "b")
    async with running(a, b) as tasks:
        await a.lease.gained()
        await anyio.sleep(10)
        tasks.start_soon(never_two, a, b)
        for _ in range(5):
            world.do("DELETE", f"{PATH}/gpu-reconciler")
            await anyio.sleep(33.3)

        assert a.may_write != b.may_write


@virtual
async def test_a_missing_namespace_is_told_once_and_waited_for() -> None:
    world = cluster()
    missing = Response(404, b'{"kind":"Status","code":404,"message":"namespaces \\"gpu\\" not found"}')
    rule = world.faults.add(Answer(missing), method="POST", path="/leases$")
    a = Candidate(world, "a")
    async with running(a):
        await anyio.sleep(60)
        assert [trouble.why for trouble in world.troubles] == [
            f'POST {PATH}: 404 namespaces "gpu" not found: the namespace is missing'
        ]
        world.faults.remove(rule)
        await anyio.sleep(5)
        assert a.may_write


@pytest.mark.parametrize("seed", range(3))
@virtual
async def test_under_faults_of_all_kinds_there_is_never_more_than_one_leader(seed: int) -> None:
    world = World(seed=seed)
    world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "gpu"}})
    a, b = Candidate(world, "a"), Candidate(world, "b")
    for fault in (Unreachable(), Late(0.0, jitter=20.0), CONFLICT, ERROR_500_HTML):
        world.faults.add(fault, chance=0.2)
    async with running(a, b) as tasks:
        tasks.start_soon(never_two, a, b)
        await anyio.sleep(900)

    assert len(a.turns) + len(b.turns) > 2, "the faults were strong enough to be worth the name"


def spec(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.do("GET", f"{PATH}/gpu-reconciler")["spec"]
    return found
