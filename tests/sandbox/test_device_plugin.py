"""sandbox: what a node offers while NVIDIA's device plugin, with its config-manager, decides about it."""

from typing import Any

import anyio

from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import EXCLUSIVE, PluginChart, sliced
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU, PluginScript
from tests.sandbox.stories import node, virtual

CHART = PluginChart(configs={"default": EXCLUSIVE, "ts-4": sliced(4), "ts-2": sliced(2), "one": sliced(1)})


async def joined(sandbox: Sandbox, chart: PluginChart = CHART, gpus: int = 1, label: str = "", **script: Any) -> None:
    """A node with a plugin, half a minute old."""
    labels = {CONFIG_LABEL: label} if label else {}
    await sandbox.install_device_plugin(chart)
    await sandbox.add_node("n", Machine(devices={GPU: gpus}, labels=labels, plugin=PluginScript(**script)))
    await anyio.sleep(30)


async def choose(sandbox: Sandbox, config: str | None) -> None:
    await sandbox.admin.merge(NODES, "", "n", {"metadata": {"labels": {CONFIG_LABEL: config}}})


def offered(sandbox: Sandbox, resource: str = GPU) -> tuple[str | None, str | None]:
    status = node(sandbox, "n")["status"]
    return status["capacity"].get(resource), status["allocatable"].get(resource)


def plugin_pod(sandbox: Sandbox) -> Json:
    (found,) = [each for each in sandbox.store.all(PODS) if each["metadata"]["namespace"] == "nvidia-device-plugin"]
    return found


def state(sandbox: Sandbox, container: str) -> str:
    """What a container of the plugin's pod does: running, a reason to wait, or how it ended."""
    status = plugin_pod(sandbox)["status"]
    every = [*status.get("initContainerStatuses", []), *status["containerStatuses"]]
    (found,) = [each["state"] for each in every if each["name"].endswith(container)]
    waits = found.get("waiting") or found.get("terminated") or {"reason": "Running"}
    return str(waits["reason"])


@virtual
async def test_a_node_without_a_label_offers_what_the_default_says() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, gpus=2)
        assert offered(sandbox) == ("2", "2")
        assert [state(sandbox, name) for name in ("init", "sidecar", "ctr")] == ["Completed", "Running", "Running"]


@virtual
async def test_a_label_switches_and_nothing_is_allocatable_meanwhile() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, gpus=2, switch_seconds=25.0)
        await choose(sandbox, "ts-4")
        await anyio.sleep(15)
        assert offered(sandbox) == ("2", "0")
        await anyio.sleep(20)
        assert offered(sandbox) == ("8", "8")
