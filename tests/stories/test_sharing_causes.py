"""The device plugin does not follow, in every way that is known, and the node says why: the matrix of causes."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import SlicingPolicy
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import Named
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import EXCLUSIVE, PluginChart, sliced
from reconciler.sandbox.plugin_script import PluginScript
from tests.stories.sharing_stage import (
    CHART,
    FOUR,
    profile,
    ruled,
    shared_machine,
    shares,
    sharing_condition,
    sharing_stage,
)
from tests.stories.stage import Stage
from tests.stories.telling import virtual

LONG = 400.0
"""Seconds: the plugin has had its time."""
BOTTLEROCKET = "Bottlerocket OS 1.40.0 (aws-k8s-1.36-nvidia)"


async def _nothing(play: Stage) -> None:
    return


@dataclass(frozen=True, slots=True)
class Case:
    """One way in which it goes wrong. `holds`: the startup taint stays, since it may still come right."""

    reason: SharingReason
    says: str
    script: PluginScript = field(default_factory=PluginScript)
    machine: Callable[[Machine], Machine] = lambda machine: machine
    chart: PluginChart = CHART
    configs: Mapping[str, str] | None = None
    policy: SlicingPolicy = FOUR
    before: Callable[[Stage], Awaitable[None]] = field(default=_nothing)
    holds: bool = True
    label: str | None = "ts-4"


def _with(labels: Mapping[str, str]) -> Callable[[Machine], Machine]:
    return lambda machine: replace(machine, labels={**machine.labels, **labels})


MATRIX = {
    "no pod of the plugin comes to the node": Case(
        SharingReason.NO_PLUGIN_POD, "has no pod on this node", PluginScript(labelled=False)
    ),
    "the plugin's DaemonSet does not tolerate the startup taint": Case(
        SharingReason.NO_PLUGIN_POD, "tolerates", chart=replace(CHART, tolerations=())
    ),
    "the plugin was installed without a ConfigMap": Case(
        SharingReason.PROFILE_MISSING, "gpu-profiles", chart=replace(CHART, external="", configs=None), label=None
    ),
    "the plugin's pod has no config-manager": Case(
        SharingReason.NO_CONFIG_MANAGER,
        "has no config-manager",
        chart=replace(CHART, external="", configs=None),
        before=lambda play: _put(play, {"exclusive": EXCLUSIVE, "ts-4": sliced(4)}),
    ),
    "the key is missing": Case(
        SharingReason.PROFILE_MISSING, "ts-4", configs={"exclusive": EXCLUSIVE, "ts-2": sliced(2)}, label=None
    ),
    "the key says another number than its name": Case(
        SharingReason.PROFILE_INVALID, "ts-4", configs={"exclusive": EXCLUSIVE, "ts-4": sliced(3)}, label=None
    ),
    "the key holds what the plugin would refuse": Case(
        SharingReason.PROFILE_INVALID, "replicas", configs={"exclusive": EXCLUSIVE, "ts-4": sliced(1)}, label=None
    ),
    "the config-manager crashes": Case(
        SharingReason.CONFIG_MANAGER_FAILING,
        "the config-manager in the plugin's pod nvidia-device-plugin/nvidia-device-plugin-",
        PluginScript(config_manager_error="error creating symlink: file exists"),
    ),
    "the plugin itself crashes": Case(
        SharingReason.PLUGIN_FAILING,
        "CrashLoopBackOff, exit code 1",
        PluginScript(plugin_error="failed to start: no NVML"),
    ),
    "the plugin's pod is ready and offers nothing (1645)": Case(
        SharingReason.NO_GPUS_OFFERED, "1645", PluginScript(lost_races=9)
    ),
    "the plugin registers another number": Case(
        SharingReason.WRONG_COUNT, "3 nvidia.com/gpu", PluginScript(serves={names.GPU_RESOURCE: 3})
    ),
    "Bottlerocket runs the plugin on the host": Case(
        SharingReason.HOST_PLUGIN,
        "settings.kubelet-device-plugins.nvidia",
        machine=lambda machine: replace(machine, os_image=BOTTLEROCKET, plugin=None),
        holds=False,
        label=None,
    ),
    "so does EKS Auto Mode": Case(
        SharingReason.HOST_PLUGIN,
        "Auto Mode",
        machine=lambda machine: replace(_with({names.EKS_COMPUTE_TYPE: "auto"})(machine), plugin=None),
        holds=False,
        label=None,
    ),
    "MIG is on": Case(
        SharingReason.MIG,
        "MIG",
        machine=_with({names.MIG_CONFIG: "all-1g.5gb", names.MIG_CONFIG_STATE: "success"}),
        holds=False,
        label=None,
    ),
    "the profile is one of MPS": Case(
        SharingReason.MPS,
        "MPS",
        configs={
            "exclusive": EXCLUSIVE,
            "mine": "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n",
        },
        policy=ruled(Named("mine")),
        holds=False,
        label=None,
    ),
    "the GPUs are lent to virtual machines": Case(
        SharingReason.VM_WORKLOAD,
        "virtual machines",
        machine=_with({names.OPERATOR_WORKLOAD: "vm-passthrough"}),
        holds=False,
        label=None,
    ),
    "the MIG manager is at work": Case(
        SharingReason.OPERATOR_BUSY,
        "pending",
        machine=_with({names.MIG_CONFIG: "all-disabled", names.MIG_CONFIG_STATE: "pending"}),
        label=None,
    ),
    "the GPU Operator has paused the plugin": Case(
        SharingReason.OPERATOR_BUSY,
        "paused-for-mig-change",
        machine=_with({f"{names.OPERATOR_DEPLOY}device-plugin": "paused-for-mig-change"}),
        label=None,
    ),
    "somebody else labelled the node": Case(
        SharingReason.FOREIGN_LABEL, "ts-2", machine=_with({names.PLUGIN_CONFIG: "ts-2"}), holds=False, label="ts-2"
    ),
}


async def _put(play: Stage, data: Mapping[str, str]) -> None:
    await play.sandbox.put_configmap("nvidia-device-plugin", "gpu-profiles", data)


@pytest.mark.parametrize("case", MATRIX.values(), ids=MATRIX.keys())
@virtual
async def test_the_node_says_why_and_whether_pods_may_come(case: Case) -> None:
    async with sharing_stage(case.policy, configs=case.configs, chart=case.chart) as play:
        await case.before(play)
        await play.sandbox.add_node("a", case.machine(shared_machine(script=case.script)))
        await anyio.sleep(LONG)

        assert shares(play) == f"False/{case.reason.value}"
        assert case.says in sharing_condition(play)["message"]
        assert (names.STARTUP_TAINT in play.taints()) == case.holds
        assert profile(play) == case.label
        assert play.restless() == []
        await play.quiet(0.2)


def test_every_reason_that_is_no_answer_of_its_own_has_a_story() -> None:
    """The rest are stories of joins and switches."""
    told = {case.reason for case in MATRIX.values()} | {SharingReason.REVERTED, SharingReason.AWAITING_PROFILE}
    elsewhere = {
        SharingReason.EXCLUSIVE,
        SharingReason.SLICED,
        SharingReason.AWAITING_MEMORY,
        SharingReason.SWITCHING,
        SharingReason.RETURNING,
        SharingReason.IN_USE,
        SharingReason.FENCED,
        SharingReason.NOT_NOW,
        SharingReason.NO_RULE,
        SharingReason.NOT_READY,
    }
    assert told | elsewhere == set(SharingReason)
