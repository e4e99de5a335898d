"""kube/catalog: what is known of instance types outlives us, survives hands, and never grows without bound."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from reconciler.kube import catalog_config_map
from reconciler.kube.catalog import CatalogStore
from reconciler.kube.catalog_config_map import NAME
from reconciler.kube.fence import NotLeader
from reconciler.kube.watch import Watcher
from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, SpecUnknown, Vendor
from reconciler.model.node import InstanceType
from reconciler.runtime.errors import Stale, Unavailable
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer, Unreachable
from reconciler.sandbox.mishaps import CONFLICT, FORBIDDEN
from tests.kube.world import STEADY, World, virtual

G4, G5, C5 = InstanceType("g4dn.xlarge"), InstanceType("g5.xlarge"), InstanceType("c5.large")
MAPS = "/api/v1/namespaces/gpu/configmaps"
ROW = BuiltinFigure(G4, "T4", Vendor.NVIDIA, 1, 16384, 15360, "aws.amazon.com/ec2/instance-types")
T4 = GpuSpec(G4, "T4", Vendor.NVIDIA, 1, 16384, ROW)
A10 = GpuSpec(G5, "A10G", Vendor.NVIDIA, 1, 24576)


class Replica:
    """One process's catalog and the watch that feeds it."""

    def __init__(self, world: World, user: str = "ours") -> None:
        self.world = world
        self.changed: list[str] = []
        self.leads = True
        self.table = {G4: ROW}
        """The built-in rows that this version of us ships."""
        transport = world.user(user)
        self.store = CatalogStore(
            transport,
            namespace="gpu",
            may_write=self.fence,
            clock=world.clock,
            report=world.report,
            builtin=lambda kind: None,
            row=lambda spec: self.table.get(spec.instance_type),
            changed=self.changed.append,
        )
        source = catalog_config_map.source(world.report, "gpu")
        self.watcher = Watcher(transport, source, self.store.take, backoff=STEADY, report=world.report)

    def fence(self) -> float:
        if not self.leads:
            raise NotLeader("not ours")
        return 10.0

    def figure(self, kind: InstanceType = G4, total: int = 15360) -> LearnedFigure:
        return LearnedFigure(kind, "Tesla T4", 1, total, 459, "580.1", self.world.clock.now())


@asynccontextmanager
async def running(world: World, *replicas: Replica) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        for replica in replicas:
            tasks.start_soon(replica.watcher.run)
            await replica.watcher.synced.wait()
        yield
        tasks.cancel_scope.cancel()


def cluster(data: dict[str, str] | None = None) -> World:
    world = World()
    world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "gpu"}})
    if data is not None:
        metadata = {"name": NAME, "labels": {"theirs": "yes"}}
        world.do("POST", MAPS, {"metadata": metadata, "data": data, "binaryData": {"logo": "AAEC"}})
    return world


def written(world: World) -> dict[str, str]:
    found: dict[str, str] = world.do("GET", f"{MAPS}/{NAME}")["data"]
    return found


@virtual
async def test_what_one_replica_learns_the_other_knows_and_a_third_reads_at_its_start() -> None:
    world = cluster()
    a, b, late = Replica(world, "a"), Replica(world, "b"), Replica(world, "late")
    async with running(world, a, b):
        figure = a.figure()
        await a.store.learn(figure)
        assert a.store.learned(G4) == figure
        await anyio.sleep(1)
        assert b.store.learned(G4) == figure
        assert a.changed == [G4, G4], "at once, and when it is seen to be written"
        assert b.changed == [G4]
    async with running(world, late):
        assert late.store.learned(G4) == figure

    assert json.loads(written(world)["nvml.g4dn.xlarge"])["totalMiB"] == 15360


@virtual
async def test_the_same_finding_of_the_next_node_is_not_written_again() -> None:
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        await a.store.learn(a.figure())
        await anyio.sleep(60)
        writes = len(world.record.writes("ours"))
        await a.store.learn(a.figure())
        assert len(world.record.writes("ours")) == writes == 1

        await a.store.learn(a.figure(total=15000))
        await anyio.sleep(1)
        found = a.store.learned(G4)
        assert found is not None
        assert found.total_mib == 15000


@virtual
async def test_ec2s_answers_are_kept_for_twelve_hours_and_over_a_restart() -> None:
    world = cluster()
    a, b = Replica(world, "a"), Replica(world, "b")
    async with running(world, a):
        assert a.store.due(G4)
        assert a.store.spec(G4) is None
        await a.store.remember([T4, NoGpu(C5, "FPGA")])
        assert not a.store.due(G4)
    async with running(world, b):
        assert b.store.spec(G4) == T4
        assert b.store.spec(C5) == NoGpu(C5, "FPGA")
        assert not b.store.due(G4)
        await anyio.sleep(2 * 3600)
        assert not b.store.due(C5)
    assert len(world.record.writes("a")) == 1, "one write for all answers of a call"


@virtual
async def test_an_answer_grows_old_and_is_still_better_than_none() -> None:
    at = "2026-02-28T22:00:00+00:00"
    entry = {"gpu": True, "model": "T4", "vendor": "nvidia", "count": 1, "MiB": 16384, "partition": 1.0, "at": at}
    world = cluster({"ec2.g4dn.xlarge": json.dumps(entry)})
    a = Replica(world)
    async with running(world, a):
        assert a.store.due(G4), "14 hours old"
        assert a.store.spec(G4) == T4


@virtual
async def test_a_version_with_a_corrected_table_lays_its_own_row_beside_what_ec2_once_said() -> None:
    """The row is not written down with the answer, so an upgrade mends it at once and not after twelve hours."""
    world = cluster()
    before, after = Replica(world, "before"), Replica(world, "after")
    after.table = {G4: replace(ROW, nvml_mib=15000)}
    async with running(world, before):
        await before.store.remember([T4])
        await anyio.sleep(1)
        assert before.store.spec(G4) == T4
    assert "15360" not in written(world)["ec2.g4dn.xlarge"]
    async with running(world, after):
        assert after.store.spec(G4) == replace(T4, builtin=after.table[G4])
        assert not after.store.due(G4)


@virtual
async def test_a_time_from_the_future_does_not_hold_for_ever() -> None:
    """A clock jumped, here or where it was written."""
    entry = {"gpu": False, "accelerator": "", "at": "2031-01-01T00:00:00+00:00"}
    world = cluster({"ec2.c5.large": json.dumps(entry)})
    a = Replica(world)
    async with running(world, a):
        assert a.store.due(C5)


STAND_INS = [
    SpecUnknown(G4, "nobody knows"),
    replace(T4, ec2_mib=None, not_asked_because="no right"),
    NoGpu(G4, "Neuron", not_asked_because="no right"),
]


@pytest.mark.parametrize("answer", STAND_INS, ids=lambda answer: type(answer).__name__)
@virtual
async def test_a_stand_in_for_ec2s_answer_is_asked_for_again_soon_and_not_written(answer: Any) -> None:
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        await a.store.remember([answer])
        assert a.store.spec(G4) == answer
        assert not a.store.due(G4)
        await anyio.sleep(timedelta(minutes=10).total_seconds() + 1)
        assert a.store.due(G4)

    assert world.record.writes("ours") == []


BROKEN = [
    ("nvml.g4dn.xlarge", "15360", "not a JSON object"),
    ("nvml.g4dn.xlarge", "{", "not JSON"),
    ("nvml.g4dn.xlarge", "[" * 1000, "nested too deeply"),
    ("ec2.g4dn.xlarge", "[" * 1000, "nested too deeply"),
    ("nvml.g4dn.xlarge", '{"totalMiB": -1}', "totalMiB is -1"),
    ("nvml.g4dn.xlarge", '{"totalMiB": 10, "reservedMiB": 10}', "leaves nothing"),
    ("ec2.g4dn.xlarge", '{"at": "2026-03-01T00:00:00"}', "has no time zone"),
    ("ec2.g4dn.xlarge", '{"at": "2026-03-01T00:00:00Z", "gpu": "yes"}', "gpu is 'yes'"),
]


@pytest.mark.parametrize(("key", "text", "says"), BROKEN)
@virtual
async def test_a_broken_entry_is_told_once_and_kept_aside_when_its_place_is_needed(
    key: str, text: str, says: str
) -> None:
    world = cluster({key: text, "theirs": "note"})
    a = Replica(world)
    async with running(world, a):
        assert a.store.learned(G4) is None
        assert a.store.spec(G4) is None
        assert [says in trouble.why and key in trouble.why for trouble in world.troubles] == [True]

        await a.store.learn(a.figure())
        await a.store.remember([T4])
        await anyio.sleep(1)
        assert a.store.learned(G4) is not None
        assert a.store.spec(G4) == T4
        assert len(world.troubles) == 1

    assert written(world)[f"broken.{key}"] == text
    assert written(world)["theirs"] == "note"
    kept = world.do("GET", f"{MAPS}/{NAME}")
    assert kept["metadata"]["labels"] == {"theirs": "yes"}
    assert kept["binaryData"] == {"logo": "AAEC"}


@virtual
async def test_several_broken_entries_of_one_key_are_all_kept() -> None:
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        for text in ("first", "second", "first"):
            await anyio.sleep(1)
            data = {"data": {"nvml.g4dn.xlarge": text}}
            if text == "first" and len(world.record.writes("ours")) == 0:
                world.do("POST", MAPS, {"metadata": {"name": NAME}, **data})
            else:
                world.merge(f"{MAPS}/{NAME}", data)
            await anyio.sleep(1)
            await a.store.learn(a.figure())

    kept = {key: text for key, text in written(world).items() if key.startswith("broken.")}
    assert kept == {"broken.nvml.g4dn.xlarge": "first", "broken.nvml.g4dn.xlarge.1": "second"}


@virtual
async def test_two_replicas_that_write_at_once_lose_nothing() -> None:
    world = cluster()
    a, b = Replica(world, "a"), Replica(world, "b")
    async with running(world, a, b), anyio.create_task_group() as tasks:
        tasks.start_soon(a.store.learn, a.figure(G4))
        tasks.start_soon(b.store.learn, b.figure(G5, 23028))
        tasks.start_soon(a.store.remember, [T4])
        tasks.start_soon(b.store.remember, [A10])

    assert set(written(world)) == {"nvml.g4dn.xlarge", "nvml.g5.xlarge", "ec2.g4dn.xlarge", "ec2.g5.xlarge"}


@virtual
async def test_a_conflict_is_tried_again_and_an_endless_one_is_told() -> None:
    world = cluster({})
    a = Replica(world)
    async with running(world, a):
        world.faults.add(CONFLICT, method="PATCH", times=3)
        await a.store.learn(a.figure())
        assert "nvml.g4dn.xlarge" in written(world)

        world.faults.add(CONFLICT, method="PATCH")
        with pytest.raises(Stale, match="changed by others"):
            await a.store.learn(a.figure(G5))


@virtual
async def test_without_the_right_to_write_what_is_known_is_known_in_memory() -> None:
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        world.faults.add(FORBIDDEN, method="POST")
        await a.store.learn(a.figure())
        await a.store.remember([T4])

        assert a.store.learned(G4) is not None
        assert not a.store.due(G4)
        assert "known in memory only" in world.troubles[0].why


@virtual
async def test_a_server_that_is_away_costs_a_second_try_for_findings_and_none_for_answers() -> None:
    """EC2 must not be asked again because the API server was away."""
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        rule = world.faults.add(Unreachable())
        await a.store.remember([T4])
        assert not a.store.due(G4)
        figure = a.figure()
        with pytest.raises(Unavailable):
            await a.store.learn(figure)
        assert a.store.learned(G4) is None, "or it would be no news, and nobody would try again"
        world.faults.remove(rule)
        await a.store.learn(figure)

    assert "nvml.g4dn.xlarge" in written(world)


@virtual
async def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    world = cluster()
    a = Replica(world)
    async with running(world, a):
        a.leads = False
        with pytest.raises(NotLeader):
            await a.store.learn(a.figure())

    assert world.record.writes("ours") == []


@virtual
async def test_a_catalog_that_is_removed_is_made_again() -> None:
    world = cluster({})
    a = Replica(world)
    async with running(world, a):
        await a.store.learn(a.figure())
        await anyio.sleep(1)
        world.do("DELETE", f"{MAPS}/{NAME}")
        await anyio.sleep(1)
        assert a.store.learned(G4) is None
        await a.store.learn(a.figure())

    assert "nvml.g4dn.xlarge" in written(world)


@virtual
async def test_a_type_that_is_no_key_is_known_in_memory() -> None:
    """A node's label may hold what a person wrote."""
    world = cluster()
    a = Replica(world)
    kind = InstanceType("no/key")
    async with running(world, a):
        await a.store.learn(a.figure(kind))
        assert a.store.learned(kind) is not None

    assert world.record.writes("ours") == []


@virtual
async def test_a_missing_namespace_is_told() -> None:
    world = cluster()
    a = Replica(world)
    missing = b'{"kind":"Status","code":404,"message":"namespaces \\"gpu\\" not found"}'
    async with running(world, a):
        world.faults.add(Answer(Response(404, missing)), method="POST")
        await a.store.learn(a.figure())

    assert "namespace is missing" in world.troubles[0].why
