"""A stage on which NVIDIA's device plugin runs, and rules say how GPUs are shared."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from reconciler.kube.shipped_profiles import contents
from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, SlicingPolicy, SlicingRule
from reconciler.model.sharing import Replicas, Wanted
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PluginScript
from tests.stories import gpus as machines
from tests.stories.stage import OURS, Stage, stage

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"
FOUR = SlicingPolicy(rules=(SlicingRule(Replicas(4)),))

CHART = PluginChart(
    external="gpu-profiles", default="exclusive", tolerations=({"operator": "Exists", "effect": "NoSchedule"},)
)
"""As we ask people to install it: the plugin's pod must get past our taints."""


def ruled(wanted: Wanted, **knobs: object) -> SlicingPolicy:
    """One rule for every node."""
    return replace(SlicingPolicy(rules=(SlicingRule(wanted),)), **knobs)  # type: ignore[arg-type]  # the caller's knobs are checked by the dataclass


def shared_machine(
    kind: str = "g4dn.xlarge",
    *,
    gpus: int = 1,
    taints: tuple[str, ...] = (STARTUP,),
    labels: Mapping[str, str] | None = None,
    script: PluginScript | None = None,
) -> Machine:
    """A machine whose GPUs a plugin's pod advertises."""
    found = machines.machine(kind, gpus=gpus, taints=taints, labels=labels)
    return replace(found, plugin=script or PluginScript())


@asynccontextmanager
async def sharing_stage(
    policy: SlicingPolicy = FOUR,
    *,
    configs: Mapping[str, str] | None = None,
    chart: PluginChart = CHART,
    capacity: CapacityPolicy | None = None,
    seed: int = 0,
    start: bool = True,
) -> AsyncIterator[Stage]:
    """`configs`: the plugin's ConfigMap where it is not the one that we ship; pods have it mounted by the time."""
    async with stage(slicing=policy, policy=capacity, seed=seed, start=False) as play:
        await play.sandbox.install_device_plugin(chart)
        if chart.external:
            await play.sandbox.put_configmap(chart.namespace, chart.external, configs or contents())
        if start:
            await play.start()
        yield play


async def anew(play: Stage, policy: SlicingPolicy) -> None:
    """The controller is stopped and started with other rules."""
    play.replicas[OURS].kill()
    play.slicing = policy
    await play.start()


async def gpu_pod(play: Stage, name: str, *, resource: str = names.GPU_RESOURCE, amount: int = 1) -> None:
    """A pod that wants GPUs and tolerates nothing of ours."""
    amounts = {resource: str(amount)}
    container = {"name": "main", "image": "app", "resources": {"requests": amounts, "limits": amounts}}
    await play.admin.create(PODS, "default", {"metadata": {"name": name}, "spec": {"containers": [container]}})


def refused(play: Stage) -> list[str]:
    """Pods that came to a node whose kubelet had no device for them."""
    pods = play.sandbox.store.all(PODS)
    why = [(pod["metadata"]["name"], str(pod["status"].get("reason", ""))) for pod in pods]
    return [f"{name}: {reason}" for name, reason in why if reason.startswith(("UnexpectedAdmissionError", "OutOf"))]


def shares(play: Stage, name: str = "a") -> str:
    """`True/Sliced`: our second condition's status and reason; empty where there is none."""
    found = sharing_condition(play, name)
    return f"{found['status']}/{found['reason']}" if found else ""


def sharing_condition(play: Stage, name: str = "a") -> Json:
    conditions = play.node(name)["status"]["conditions"]
    return next((one for one in conditions if one["type"] == names.SHARING_CONDITION), {})


def profile(play: Stage, name: str = "a") -> str | None:
    """The label's value."""
    value = play.node(name)["metadata"]["labels"].get(names.PLUGIN_CONFIG)
    return None if value is None else str(value)


def offered(play: Stage, name: str = "a") -> int:
    """How many GPUs or slices pods may ask for."""
    there = play.node(name)["status"]["allocatable"]
    return sum(int(there.get(one, 0)) for one in (names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE))
