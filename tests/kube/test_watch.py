"""kube/watch: a cache stays in step with the server, whatever happens to the stream."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from reconciler.kube import sources
from reconciler.kube.cache import ClaimCache, NodeCache, PodCache
from reconciler.kube.watch import Pace, Watcher
from reconciler.model.node import NodeName
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer, Cut, Drop, ErrorEvent, Fault, Late, Stall, Unreachable
from reconciler.sandbox.kinds import NODES, Kind
from reconciler.sandbox.mishaps import ERROR_500_HTML, FORBIDDEN, GONE, THROTTLED
from tests.kube.world import STEADY, World, virtual

NODES_PATH = "/api/v1/nodes"


class Watched:
    """A node cache and the watch that feeds it."""

    def __init__(self, world: World, pace: Pace | None = None) -> None:
        self.changed: list[str] = []
        self.cache = NodeCache(self.changed.append)
        source = sources.nodes(world.report)
        self.watcher = Watcher(world.transport, source, self.cache.take, backoff=STEADY, report=world.report, pace=pace)

    def names(self) -> list[str]:
        return sorted(node.name for node in self.cache.all())


@asynccontextmanager
async def watching(world: World, pace: Pace | None = None) -> AsyncIterator[Watched]:
    watched = Watched(world, pace)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watcher.run)
        yield watched
        tasks.cancel_scope.cancel()


@virtual
async def test_it_begins_with_all_there_is_and_goes_on_with_changes() -> None:
    """One request serves both: the list is the first part of the watch."""
    world = World()
    world.node("a")
    world.node("b")
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        assert watched.names() == ["a", "b"]

        world.node("c")
        world.do("DELETE", f"{NODES_PATH}/a")
        await anyio.sleep(1)

        assert watched.names() == ["b", "c"]
        assert world.calls() == [f"WATCH {NODES_PATH} 200"]


@virtual
async def test_an_empty_kind_is_synced_at_once() -> None:
    world = World()
    async with watching(world) as watched:
        with anyio.fail_after(1):
            await watched.watcher.synced.wait()


@virtual
async def test_a_heartbeat_is_no_news_and_a_label_is() -> None:
    world = World()
    world.node("a", status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}]})
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        watched.changed.clear()
        before = watched.cache.get(NodeName("a"))
        beat = {"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "y"}]}}
        world.merge(f"{NODES_PATH}/a/status", beat)
        await anyio.sleep(1)
        after = watched.cache.get(NodeName("a"))

        assert watched.changed == []
        assert before is not None
        assert after is not None
        assert after.resource_version > before.resource_version, "a taint is written with the newest version"

        world.merge(f"{NODES_PATH}/a", {"metadata": {"labels": {"x": "y"}}})
        await anyio.sleep(1)
        assert watched.changed == ["a"]


@virtual
async def test_a_node_that_is_made_anew_under_its_name_is_another_node() -> None:
    world = World()
    first = world.node("a")
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        world.do("DELETE", f"{NODES_PATH}/a")
        second = world.node("a")
        await anyio.sleep(1)
        node = watched.cache.get(NodeName("a"))

        assert node is not None
        assert node.key.uid == second["metadata"]["uid"] != first["metadata"]["uid"]


BREAKS: list[Fault] = [Drop(), Cut()]


@pytest.mark.parametrize("fault", BREAKS)
@virtual
async def test_a_broken_stream_goes_on_where_it_stopped(fault: Fault) -> None:
    """No new list is needed, and what happened meanwhile is told."""
    world = World()
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        await anyio.sleep(30)
        world.faults.add(fault, watch=True, times=1)
        world.node("meanwhile")
        await anyio.sleep(5)

        assert watched.names() == ["meanwhile"]
        assert watched.watcher.counts.lists == 1
        assert watched.watcher.counts.watches == 2


@virtual
async def test_a_stream_that_falls_silent_is_left_within_the_time_of_a_bookmark() -> None:
    """The connection stays up, and nothing comes: only the missing bookmark tells."""
    world = World()
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        stall = world.faults.add(Stall(), watch=True, times=1)
        world.node("unseen")
        await anyio.sleep(60)
        assert watched.names() == []

        await anyio.sleep(40)
        assert watched.names() == ["unseen"]
        assert any("silent" in trouble.why for trouble in world.troubles)
        world.faults.remove(stall)


@virtual
async def test_a_quiet_hour_costs_few_requests_and_no_list() -> None:
    """Bookmarks keep the version fresh; watches end by their own time and go on."""
    world = World()
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        await anyio.sleep(3600)
        world.node("late")
        await anyio.sleep(1)

        assert watched.names() == ["late"]
        assert watched.watcher.counts.lists == 1
        assert len(world.calls()) <= 13
        assert world.troubles == []


@pytest.mark.parametrize("fault", [GONE, ErrorEvent()])
@virtual
async def test_a_410_leads_to_a_new_list_which_also_finds_what_is_gone(fault: Fault) -> None:
    world = World()
    world.node("stays")
    world.node("goes")
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        await anyio.sleep(30)
        rule = world.faults.add(fault, watch=True, times=1)
        world.do("DELETE", f"{NODES_PATH}/goes")
        world.node("comes")
        world.store.shelf(NODES).compact()
        await anyio.sleep(10)

        assert rule.met == 1
        assert watched.names() == ["comes", "stays"]
        assert watched.watcher.counts.lists == 2


@virtual
async def test_a_server_that_always_says_410_is_asked_ever_more_seldom() -> None:
    world = World()
    async with watching(world) as watched:
        await watched.watcher.synced.wait()
        world.faults.add(ErrorEvent(), watch=True)
        await anyio.sleep(600)

        assert 10 < len(world.calls()) < 60


@virtual
async def test_a_server_without_watch_list_is_listed_by_pages() -> None:
    """Old servers refuse `sendInitialEvents`; from then on no list tries it again."""
    world = World()
    for number in range(7):
        world.node(f"n{number}")
    refusal = b'{"kind":"Status","code":422,"message":"sendInitialEvents is forbidden for watch"}'
    world.faults.add(Answer(Response(422, refusal)), watch=True, times=1)
    async with watching(world, Pace(page=3)) as watched:
        await watched.watcher.synced.wait()

        assert len(watched.names()) == 7
        assert world.calls() == [f"WATCH {NODES_PATH} 422", *[f"GET {NODES_PATH} 200"] * 3]

        world.node("new")
        await anyio.sleep(1)
        assert len(watched.names()) == 8


@virtual
async def test_first_objects_that_break_off_are_listed_by_pages_next() -> None:
    world = World()
    world.node("a")
    world.faults.add(Cut(), watch=True, times=1)
    async with watching(world) as watched:
        await watched.watcher.synced.wait()

        assert watched.names() == ["a"]
        assert world.calls()[:2] == [f"WATCH {NODES_PATH} 200", f"GET {NODES_PATH} 200"]


@virtual
async def test_a_list_whose_pages_expire_begins_anew() -> None:
    world = World()
    for number in range(5):
        world.node(f"n{number}")
    world.faults.add(Cut(), watch=True, times=1)
    async with watching(world, Pace(page=2)) as watched:
        world.faults.add(Late(1.0), method="GET", watch=False, times=2)
        await anyio.sleep(1.5)
        world.do("DELETE", f"{NODES_PATH}/n0")
        world.store.shelf(NODES).compact()
        await watched.watcher.synced.wait()
        await anyio.sleep(1)

        assert watched.names() == ["n1", "n2", "n3", "n4"]


OUTAGES: list[Fault] = [Unreachable(), ERROR_500_HTML, THROTTLED]


@pytest.mark.parametrize("fault", OUTAGES)
@virtual
async def test_a_server_that_is_away_for_ten_minutes_is_found_again(fault: Fault) -> None:
    """At the start and later; with waits that grow to half a minute, so it is not hammered."""
    world = World()
    world.node("a")
    away = world.faults.add(fault)
    async with watching(world) as watched:
        await anyio.sleep(600)
        assert len(world.calls()) < 40
        world.faults.remove(away)
        await anyio.sleep(31)
        assert watched.names() == ["a"]

        away = world.faults.add(fault)
        cut = world.faults.add(Cut(), watch=True, times=1)
        await anyio.sleep(600)
        world.node("b")
        world.faults.remove(away)
        world.faults.remove(cut)
        await anyio.sleep(31)
        assert watched.names() == ["a", "b"]


@virtual
async def test_missing_rights_are_told_and_tried_again() -> None:
    world = World()
    world.faults.add(FORBIDDEN, times=2)
    async with watching(world) as watched:
        await watched.watcher.synced.wait()

        assert [trouble.kind for trouble in world.troubles] == ["Node", "Node"]
        assert "watching /api/v1/nodes: 403" in world.troubles[0].why


@virtual
async def test_events_leave_the_event_loop_its_turns() -> None:
    """A flood of events in one chunk must not starve the lease's renewal."""
    world = World()
    for number in range(1000):
        world.node(f"n{number:04}")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with watching(world, Pace(turn=50)) as watched, anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await watched.watcher.synced.wait()
        tasks.cancel_scope.cancel()

    assert turns >= 1000 // 50


@virtual
async def test_a_kind_may_be_absent_then_come_and_go() -> None:
    """Karpenter is installed and removed while we run; nobody restarts us for it."""
    world = World()
    types: list[str] = []
    cache = ClaimCache(types.append)
    source = sources.node_claims(world.report)
    watcher = Watcher(world.transport, source, cache.take, backoff=STEADY, report=world.report)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        with anyio.fail_after(5):
            await watcher.synced.wait()
        await anyio.sleep(600)
        assert len(world.calls()) <= 22
        assert len(world.troubles) == 1, "an absence is told once"

        kind = claims(world)
        claim = {
            "metadata": {"name": "c1", "labels": {"node.kubernetes.io/instance-type": "g5.xlarge"}},
            "status": {"nodeName": "n1"},
        }
        world.do("POST", source.path, claim)
        await anyio.sleep(35)
        assert types == ["g5.xlarge"]
        assert [one.name for one in cache.views()] == ["c1"]

        world.store.close(kind)
        await anyio.sleep(35)
        assert list(cache.views()) == []

        claims(world)
        world.do("POST", source.path, claim)
        await anyio.sleep(70)
        assert [one.name for one in cache.views()] == ["c1"]
        tasks.cancel_scope.cancel()


@virtual
async def test_a_right_that_is_gone_for_moments_takes_nothing_away_and_one_that_stays_away_does() -> None:
    """An API server denies what it has not read the rules of yet, for some seconds after its start."""
    world = World()
    claims(world)
    cache = ClaimCache()
    source = sources.node_claims(world.report)
    world.do("POST", source.path, {"metadata": {"name": "c1"}})
    watcher = Watcher(world.transport, source, cache.take, backoff=STEADY, report=world.report)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.synced.wait()
        for seconds, known in ((10, ["c1"]), (10, ["c1"]), (90, [])):
            denied = world.faults.add(FORBIDDEN, path="/nodeclaims")
            world.faults.add(Drop(), path="/nodeclaims", times=1)
            await anyio.sleep(seconds)
            assert ([one.name for one in cache.views()], watcher.absent) == (known, known == [])
            world.faults.remove(denied)
            await anyio.sleep(60)
            assert [one.name for one in cache.views()] == ["c1"]
        tasks.cancel_scope.cancel()


def claims(world: World) -> Kind:
    kind = Kind("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False, custom=True)
    world.store.open(kind)
    return kind


@virtual
async def test_pods_that_end_or_lose_their_node_hold_nothing_any_more() -> None:
    world = World()
    touched: list[str] = []
    cache = PodCache({"gpu-reconciler.io/gpu-memory"}, touched.append)
    watcher = Watcher(world.transport, sources.pods(world.report), cache.take, backoff=STEADY, report=world.report)
    world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "dev"}})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        for name in ("one", "two"):
            world.do("POST", "/api/v1/namespaces/dev/pods", pod(name))
        await anyio.sleep(1)
        assert cache.requested(NodeName("n1"), "gpu-reconciler.io/gpu-memory") == 2 * 104 * 1024 * 1024
        assert cache.requested(NodeName("n1"), "cpu") == 200

        world.merge("/api/v1/namespaces/dev/pods/one/status", {"status": {"phase": "Succeeded"}})
        await anyio.sleep(1)
        assert cache.requested(NodeName("n1"), "gpu-reconciler.io/gpu-memory") == 104 * 1024 * 1024

        world.do("DELETE", "/api/v1/namespaces/dev/pods/two", {"gracePeriodSeconds": 0})
        await anyio.sleep(1)
        assert cache.totals(NodeName("n1")) == {}
        assert set(touched) == {"n1"}
        tasks.cancel_scope.cancel()


def pod(name: str) -> dict[str, object]:
    amounts = {"gpu-reconciler.io/gpu-memory": "104Mi", "cpu": "100m"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    return {"metadata": {"name": name}, "spec": {"nodeName": "n1", "containers": [container]}}
