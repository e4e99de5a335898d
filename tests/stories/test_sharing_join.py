"""A node joins and its GPUs are shared as its rule says, before any pod can meet it half configured."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, Later, MultiGpu, SlicingPolicy
from reconciler.model.sharing import Exclusive, MemoryPerSlice, Named, Replicas
from reconciler.sandbox.cluster import eventually
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import EXCLUSIVE, PluginChart, sliced
from reconciler.sandbox.plugin_script import PluginScript
from tests.stories.sharing_stage import (
    CHART,
    FOUR,
    STARTUP,
    offered,
    profile,
    ruled,
    shared_machine,
    shares,
    sharing_condition,
    sharing_stage,
)
from tests.stories.telling import virtual

MOUNTED = 130.0
"""Seconds after which pods see a ConfigMap as it is."""
GIB = 1024
ANY = """version: v1
flags:
  migStrategy: none
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""
"""The one key of starting point B (deploy/examples/starting-point-b)."""
THEIRS = replace(CHART, namespace="gpu-operator", external="time-slicing-config-all", default="any")


@dataclass(frozen=True, slots=True)
class Case:
    policy: SlicingPolicy
    profile: str | None
    slots: int
    says: str = ""
    machine: Machine = field(default_factory=shared_machine)
    configs: Mapping[str, str] | None = None
    chart: PluginChart = CHART
    capacity: CapacityPolicy = field(default_factory=CapacityPolicy)
    resource: str = names.GPU_RESOURCE


JOINS = {
    "whole": Case(ruled(Exclusive()), "exclusive", 1),
    "replicas": Case(FOUR, "ts-4", 4),
    "slices of some memory, rounded down": Case(
        ruled(MemoryPerSlice(4 * GIB)), "ts-3", 3, "14910 MiB in slices of 4096"
    ),
    "slices of some memory, no more than the cap": Case(ruled(MemoryPerSlice(GIB, most=6)), "ts-6", 6, "6 slices"),
    "slices that are too big leave the GPU whole": Case(
        ruled(MemoryPerSlice(10 * GIB)), "exclusive", 1, "make fewer than two slices of 10240"
    ),
    "starting point B as it stands": Case(
        replace(ruled(Named("any")), config_map="gpu-operator/time-slicing-config-all"),
        "any",
        4,
        configs={"any": ANY},
        chart=THEIRS,
    ),
    "somebody's key beside others": Case(ruled(Named("any")), "any", 4, configs={"any": ANY, "exclusive": EXCLUSIVE}),
    "a key that renames": Case(
        ruled(Named("shared")),
        "shared",
        4,
        "4 nvidia.com/gpu.shared",
        configs={"exclusive": EXCLUSIVE, "shared": sliced(4, renameByDefault=True)},
        resource=names.GPU_SHARED_RESOURCE,
    ),
    "four GPUs": Case(FOUR, "ts-4", 16, "4 GPUs in 4 slices each", shared_machine("g4dn.12xlarge", gpus=4)),
    "four GPUs by memory": Case(
        ruled(MemoryPerSlice(4 * GIB)),
        "ts-3",
        12,
        machine=shared_machine("g4dn.12xlarge", gpus=4),
        capacity=CapacityPolicy(multi_gpu=MultiGpu.SUM),
    ),
    "without our startup taint": Case(FOUR, "ts-4", 4, machine=shared_machine(taints=())),
    "without our startup taint, where fences may be long": Case(
        ruled(Replicas(4), later=Later.FENCE), "ts-4", 4, machine=shared_machine(taints=())
    ),
}


@pytest.mark.parametrize("case", JOINS.values(), ids=JOINS.keys())
@virtual
async def test_a_node_gets_its_profile_and_opens_with_both_answers_true(case: Case) -> None:
    async with sharing_stage(case.policy, configs=case.configs, chart=case.chart, capacity=case.capacity) as play:
        await anyio.sleep(MOUNTED)
        await play.join("a", case.machine)

        assert shares(play) == ("True/Exclusive" if case.slots == 1 else "True/Sliced")
        assert case.says in sharing_condition(play)["message"]
        assert (profile(play), offered(play)) == (case.profile, case.slots)
        assert play.node()["status"]["allocatable"][case.resource] == str(case.slots)
        assert play.taints() == []
        await play.quiet(0.2)


ODD = ruled(MemoryPerSlice(2950))
"""The first figure of 14592 MiB makes four, and NVML's 14910 make five."""


@virtual
async def test_behind_the_startup_taint_slices_are_counted_at_once_and_corrected_before_pods_come() -> None:
    """Karpenter buys by what a node shows first."""
    async with sharing_stage(ODD) as play:
        await anyio.sleep(MOUNTED)
        await play.sandbox.add_node("a", shared_machine())
        await anyio.sleep(1)
        assert (play.reason(), shares(play), profile(play)) == ("True/Provisional", "False/Switching", "ts-4")
        await eventually(lambda: play.taints() == [], "the node is open")
        assert (play.reason(), shares(play)) == ("True/Verified", "True/Sliced")
        assert (profile(play), offered(play)) == ("ts-5", 5)


@virtual
async def test_without_it_slices_are_counted_once_by_the_figure_that_stays() -> None:
    async with sharing_stage(ODD) as play:
        await anyio.sleep(MOUNTED)
        await play.sandbox.add_node("a", shared_machine(taints=()))
        await anyio.sleep(1)
        assert (play.reason(), shares(play), profile(play)) == ("True/Provisional", "False/AwaitingMemory", None)
        await anyio.sleep(60)
        assert (shares(play), profile(play), offered(play), play.taints()) == ("True/Sliced", "ts-5", 5, [])


@virtual
async def test_several_gpus_of_which_no_memory_is_advertised_cannot_be_counted_by_it_and_the_node_says_so() -> None:
    async with sharing_stage(ruled(MemoryPerSlice(4 * GIB))) as play:
        await play.join("a", shared_machine("g4dn.12xlarge", gpus=4))
        assert (play.reason(), shares(play), profile(play)) == ("False/MultiGPU", "False/AwaitingMemory", None)
        assert "give the rule a number of replicas" in sharing_condition(play)["message"]
        assert play.taints() == []
        await play.quiet(0.2)


@virtual
async def test_a_node_of_karpenters_is_not_touched_before_it_is_registered() -> None:
    pool = {names.KARPENTER_NODEPOOL: "gpu"}
    unregistered = f"{names.KARPENTER_UNREGISTERED_TAINT}=:NoExecute"
    async with sharing_stage() as play:
        await anyio.sleep(MOUNTED)
        await play.join("a", shared_machine(taints=(STARTUP, unregistered), labels=pool))
        assert [str(call) for call in play.writes() if "/nodes/" in call.path] == []
        assert (profile(play), shares(play)) == (None, "")

        taints = [{"key": names.STARTUP_TAINT, "effect": "NoSchedule"}]
        registered = {"metadata": {"labels": {names.KARPENTER_REGISTERED: "true"}}, "spec": {"taints": taints}}
        await play.admin.merge(NODES, "", "a", registered)
        await anyio.sleep(60)
        assert (shares(play), profile(play), play.taints()) == ("True/Sliced", "ts-4", [])


@virtual
async def test_the_plugins_pod_may_be_there_long_before_the_label() -> None:
    async with sharing_stage(start=False) as play:
        await play.sandbox.add_node("a", shared_machine())
        await anyio.sleep(MOUNTED)
        assert offered(play) == 1
        await play.start()
        await anyio.sleep(60)
        assert (shares(play), offered(play), play.taints()) == ("True/Sliced", 4, [])


@virtual
async def test_the_plugins_pod_may_come_long_after_the_label() -> None:
    async with sharing_stage() as play:
        await anyio.sleep(MOUNTED)
        await play.sandbox.add_node("a", shared_machine(script=PluginScript(labelled=False)))
        await anyio.sleep(400)
        assert (shares(play), profile(play), play.taints()) == ("False/NoPluginPod", "ts-4", [names.STARTUP_TAINT])

        await play.admin.merge(NODES, "", "a", {"metadata": {"labels": {"nvidia.com/gpu.present": "true"}}})
        await anyio.sleep(60)
        assert (shares(play), offered(play), play.taints()) == ("True/Sliced", 4, [])


@virtual
async def test_a_config_map_that_is_as_young_as_the_node_is_no_hindrance_where_the_plugin_starts_later() -> None:
    """The pod that starts later mounts what is there: the label goes out before it is even bound."""
    async with sharing_stage() as play:
        await play.join("a", shared_machine())
        assert (shares(play), profile(play)) == ("True/Sliced", "ts-4")
