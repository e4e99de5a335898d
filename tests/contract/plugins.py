"""What does a contract test ask of a device plugin? An installation, a node, and what can be seen of both."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reconciler.sandbox.plugin_chart import EXCLUSIVE, PluginChart, sliced
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU, PluginScript
from tests.contract.world import MERGE, Json, Node, World, eventually, get, items, patch, pods_path

CONFIG = {
    "exclusive": EXCLUSIVE,
    "ts-2": sliced(2),
    "ts-4": sliced(4),
    "shared": sliced(4, renameByDefault=True),
    "one": sliced(1),
}


def installed(world: World) -> PluginChart:
    """NVIDIA's chart in the test's namespace."""
    chart = PluginChart(configs=CONFIG, namespace=world.namespace)
    world.install(chart)
    return chart


def plugged(world: World, *, gpus: int = 1, label: str = "", **script: Any) -> Node:
    """A node with so many GPUs and a plugin's pod. By default the plugin is quick."""
    quick = replace(PluginScript(start_seconds=0.0, switch_seconds=0.0), **script)
    return world.plugged(quick, gpus=gpus, labels={CONFIG_LABEL: label} if label else {})


def choose(world: World, node: Node, config: str) -> None:
    """Set the label."""
    patch(world, f"/api/v1/nodes/{node.name}", {"metadata": {"labels": {CONFIG_LABEL: config}}}, MERGE)


def edit(world: World, data: Mapping[str, str]) -> None:
    """Change configs, or add some."""
    name = PluginChart().config_map
    path = f"/api/v1/namespaces/{world.namespace}/configmaps/{name}"
    patch(world, path, {"data": dict(data)}, MERGE)


def offered(world: World, node: Node, resource: str = GPU) -> tuple[str | None, str | None]:
    """Capacity and allocatable."""
    status = get(world, f"/api/v1/nodes/{node.name}")["status"]
    return status["capacity"].get(resource), status["allocatable"].get(resource)


def until_offered(
    world: World, node: Node, capacity: str, allocatable: str, resource: str = GPU, seconds: float = 40.0
) -> None:
    """Wait for both."""
    wanted = (capacity, allocatable)
    eventually(world, lambda: offered(world, node, resource) == wanted, f"{resource} is {wanted}", seconds)


def plugin_pods(world: World) -> list[Json]:
    """The pods of the DaemonSet."""
    return items(world, pods_path(world), labelSelector="app.kubernetes.io/name=nvidia-device-plugin")


def container(world: World, name: str) -> Json:
    """The status of a container of the plugin's only pod."""
    (found,) = plugin_pods(world)
    every: list[Json] = [
        *found["status"].get("initContainerStatuses", []),
        *found["status"].get("containerStatuses", []),
    ]
    return next((each for each in every if each["name"] == name), {"state": {}})


def until_waiting(world: World, name: str, reason: str) -> Json:
    """Wait until a container of the plugin's pod waits for this reason; its status then."""

    def waits() -> Json | None:
        status = container(world, name) if plugin_pods(world) else {"state": {}}
        return status if status["state"].get("waiting", {}).get("reason") == reason else None

    return eventually(world, waits, f"{name} is in {reason}", 60)


def until_running(world: World) -> None:
    """Wait until the plugin's pod is ready."""

    def ready() -> bool:
        found = [each["status"].get("conditions", []) for each in plugin_pods(world)]
        return any(("Ready", "True") in [(each["type"], each["status"]) for each in some] for some in found)

    eventually(world, ready, "the plugin's pod is ready", 60)
