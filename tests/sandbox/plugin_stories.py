"""What does every story of a device plugin ask and do? A node with one, its label, its counts, its pod."""

from collections.abc import Mapping
from typing import Any

import anyio

from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import CONFIGMAPS, NODES, PODS
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import EXCLUSIVE, PluginChart, sliced
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU, PluginScript
from tests.sandbox.stories import node

CONFIGS = {
    "exclusive": EXCLUSIVE,
    "ts-2": sliced(2),
    "ts-4": sliced(4),
    "shared": sliced(4, renameByDefault=True),
    "mps-3": sliced(3, strategy="mps"),
    "one": sliced(1),
}
CHART = PluginChart(configs=CONFIGS)


async def joined(
    sandbox: Sandbox, chart: PluginChart | None = CHART, *, gpus: int = 1, label: str = "", **script: Any
) -> None:
    """A node with a plugin, half a minute old; no chart: nothing is installed."""
    if chart is not None:
        await sandbox.install_device_plugin(chart)
    labels = {CONFIG_LABEL: label} if label else {}
    await sandbox.add_node("n", Machine(devices={GPU: gpus}, labels=labels, plugin=PluginScript(**script)))
    await anyio.sleep(30)


async def choose(sandbox: Sandbox, config: str | None) -> None:
    await sandbox.admin.merge(NODES, "", "n", {"metadata": {"labels": {CONFIG_LABEL: config}}})


async def edit(sandbox: Sandbox, data: Mapping[str, str | None]) -> None:
    await sandbox.admin.merge(CONFIGMAPS, CHART.namespace, CHART.config_map, {"data": data})


def offered(sandbox: Sandbox, resource: str = GPU) -> tuple[str | None, str | None]:
    """Capacity and allocatable."""
    status = node(sandbox, "n")["status"]
    return status["capacity"].get(resource), status["allocatable"].get(resource)


def plugin_pod(sandbox: Sandbox) -> Json:
    (found,) = [each for each in sandbox.store.all(PODS) if each["metadata"]["namespace"] == CHART.namespace]
    return found


def container(sandbox: Sandbox, name: str) -> Json:
    """The status of the plugin pod's container whose name ends so."""
    status = plugin_pod(sandbox)["status"]
    every: list[Json] = [*status.get("initContainerStatuses", []), *status["containerStatuses"]]
    (found,) = [each for each in every if each["name"].endswith(name)]
    return found


def states(sandbox: Sandbox, *names: str) -> list[str]:
    """What containers do: Running, a reason to wait, or how they ended."""
    found = [container(sandbox, name)["state"] for name in names or ("init", "sidecar", "ctr")]
    return [str((each.get("waiting") or each.get("terminated") or {"reason": "Running"})["reason"]) for each in found]
