"""A GPU node joins: the small number first, then NVML's, then peace."""

from dataclasses import replace

import anyio
import pytest

from reconciler.controllers.ports import TypeSource
from reconciler.model import names
from reconciler.model.record import Source
from reconciler.sandbox.kinds import NODECLAIMS, NODES
from reconciler.sandbox.programs import Waiting
from tests.stories import gpus
from tests.stories.ec2 import Ec2, Silent
from tests.stories.gpus import T4_MIB
from tests.stories.stage import Stage, stage
from tests.stories.telling import virtual

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"
FIRST_GUESS = 15360 - 768
"""The built-in figure of a T4 less 5 %."""


@virtual
async def test_a_joining_node_has_the_small_number_first_and_nvmls_after_the_probe() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(0.4)
        assert (play.advertised(), play.reason()) == (FIRST_GUESS, "True/Provisional")
        assert play.record().source is Source.BUILTIN

        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        assert play.labels() == {
            "gpu-model": "T4",
            "gpu-memory-mib": "15360",
            "gpu-count": "1",
            "gpu-memory-source": "nvml",
        }
        record = play.record()
        assert (record.source, record.ec2_mib, record.count) == (Source.NVML, 16384, 1)
        assert play.events() == ["Provisional", "Verified"]


@virtual
async def test_a_joined_node_is_left_alone() -> None:
    """I5: an hour of heartbeats, resyncs and expiring Jobs moves us to nothing."""
    async with stage() as play:
        await play.join()
        assert play.restless() == []
        await play.quiet(hours=1)
        assert play.jobs() == []
        assert play.restless() == []


@virtual
async def test_one_join_takes_two_calls_until_pods_can_come_and_eight_until_all_is_done() -> None:
    """Nothing but the event that tells of it stands between the watch event and the number on the node."""
    async with stage() as play:
        before = len(play.sandbox.record.of("ours"))
        await play.join()
        calls = [call for call in play.sandbox.record.of("ours") if not call.watch][before:]

        first = next(place for place, call in enumerate(calls) if call.path.endswith("/nodes/a/status"))
        assert [call.path.rpartition("/")[2] for call in calls[:first]] == ["events"]
        assert 3 < len(calls) <= 10, [str(call) for call in calls]
        assert sum(call.path.endswith("/nodes/a/status") for call in calls) <= 3


@virtual
async def test_the_number_stands_within_a_second_of_the_node() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(0.01)
        assert play.advertised() == FIRST_GUESS


@pytest.mark.parametrize("types", [Silent(), Ec2(seconds=60.0)], ids=["never answers", "takes a minute"])
@virtual
async def test_no_answer_of_aws_is_needed_before_the_first_patch(types: TypeSource) -> None:
    async with stage(types=types) as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(0.4)
        assert play.advertised() == FIRST_GUESS

        await anyio.sleep(90)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_a_node_claim_lets_the_type_be_looked_up_before_the_node_is_there() -> None:
    ec2 = Ec2(seconds=5.0)
    async with stage(types=ec2) as play:
        await play.sandbox.install_karpenter()
        await anyio.sleep(70)
        claim = {"metadata": {"name": "c", "labels": {names.LABEL_INSTANCE_TYPE: "g5.xlarge"}}, "spec": {}}
        await play.admin.create(NODECLAIMS, "", claim)
        await anyio.sleep(30)
        assert ec2.calls == [("g5.xlarge",)]

        await play.join("a", gpus.machine("g5.xlarge"))
        assert play.advertised() == gpus.A10G_MIB
        assert len(ec2.calls) == 1
        paths = [call.path.rpartition("/")[2] for call in play.sandbox.record.writes("ours")[1:3]]
        assert paths == ["events", "status"], "after EC2's answer was kept"


@virtual
async def test_a_claim_whose_type_aws_never_answers_for_delays_no_node() -> None:
    types = Silent()
    async with stage(types=types, start=False) as play:
        await play.sandbox.install_karpenter()
        await play.start()
        claim = {"metadata": {"name": "c", "labels": {names.LABEL_INSTANCE_TYPE: "g4dn.xlarge"}}, "spec": {}}
        await play.admin.create(NODECLAIMS, "", claim)
        await anyio.sleep(60)
        assert types.calls == [("g4dn.xlarge",)]
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(0.01)
        assert play.advertised() == FIRST_GUESS


@virtual
async def test_many_types_at_once_cost_one_call_of_ec2() -> None:
    ec2 = Ec2(seconds=2.0)
    async with stage(types=ec2) as play:
        for name, kind in (("a", "g4dn.xlarge"), ("b", "g5.xlarge"), ("c", "g6.xlarge"), ("d", "m5.large")):
            await play.sandbox.add_node(name, gpus.machine(kind, gpus=int(kind != "m5.large")))
        await anyio.sleep(120)
        assert len(ec2.calls) <= 2
        assert [play.reason(name) for name in "abcd"] == ["True/Verified"] * 3 + [""]


@virtual
async def test_the_startup_taint_goes_when_the_number_is_true_and_the_device_plugin_is_there() -> None:
    async with stage() as play:
        machine = replace(gpus.machine(taints=(STARTUP, "team=ml:NoSchedule")), device_delay=120.0)
        await play.join("a", machine)
        assert play.reason() == "True/Verified"
        assert names.STARTUP_TAINT in play.taints()

        await anyio.sleep(70)
        assert names.GPU_RESOURCE in play.node()["status"]["allocatable"]
        assert play.taints() == ["team"]
        await play.quiet()


@virtual
async def test_the_startup_taint_stays_until_the_probe_has_answered() -> None:
    async with stage() as play:
        play.answers["a"] = Waiting("ContainerCreating")
        await play.join("a", gpus.machine(taints=(STARTUP,)))
        assert names.STARTUP_TAINT in play.taints()
        assert names.GPU_RESOURCE in play.node()["status"]["allocatable"]

        play.answers["a"] = gpus.BY_TYPE["g4dn.xlarge"]
        await anyio.sleep(30)
        assert play.taints() == []
        assert taint_writes(play, "a")[0] == 200


@virtual
async def test_the_taint_is_never_written_against_a_version_that_our_own_patch_has_made_old() -> None:
    """On the second node of a type the number stands from the start, so its last patch and the taint meet."""
    async with stage() as play:
        await play.join("a")
        for name in "bcd":
            machine = replace(gpus.machine(taints=(STARTUP,)), device_delay=0.0)
            await play.sandbox.add_node(name, machine)
        await anyio.sleep(60)
        assert [play.taints(name) for name in "bcd"] == [[]] * 3
        assert [taint_writes(play, name)[0] for name in "bcd"] == [200] * 3


def taint_writes(play: Stage, name: str) -> list[int]:
    """The answers to our patches of the node's list of taints."""
    return [call.status for call in play.writes() if call.path == f"/api/v1/nodes/{name}"]


@virtual
async def test_a_taint_that_others_write_at_the_same_time_loses_nothing() -> None:
    """The list is written whole: against a newer version it is refused, and written anew."""
    async with stage() as play:
        for name in "ab":
            await play.sandbox.add_node(name, replace(gpus.machine(taints=(STARTUP,)), device_delay=2.0))
        for turn in range(40):
            for name in "ab":
                taints = [one for one in play.node(name)["spec"].get("taints") or [] if one["key"] != "turn"]
                taints.append({"key": "turn", "value": str(turn), "effect": "PreferNoSchedule"})
                await play.admin.merge(NODES, "", name, {"spec": {"taints": taints}})
            await anyio.sleep(0.1)
        await anyio.sleep(60)
        assert [play.taints(name) for name in "ab"] == [["turn"]] * 2
