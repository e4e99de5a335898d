"""On which stage are nodes sliced in these tests, and what does a node say of it?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reconciler.kube.shipped_profiles import contents
from reconciler.model import names
from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PluginScript
from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import DevicePlugin, plugged
from tests.controlplane.kubelet import Machine
from tests.controlplane.plugin_namespace import plugin_namespace, tolerations
from tests.controlplane.plugin_place import Place
from tests.deploy.objects import SHARING

GPU = names.GPU_RESOURCE
STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"
NAMESPACE = "nvidia-device-plugin"
CONFIG_MAP = "gpu-profiles"

CHART = PluginChart(external=CONFIG_MAP, tolerations=tolerations("values-device-plugin.yaml"))
"""NVIDIA's chart with our values: it follows the label, and gets past our taints."""


@contextmanager
def profiles_shipped(plane: ControlPlane, configs: Mapping[str, str] | None = None) -> Iterator[None]:
    """The plugin's ConfigMap, as we ship it unless told otherwise, and the right to read it."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    with plugin_namespace(plane, NAMESPACE, CONFIG_MAP):
        plane.api.delete(f"{path}/{CONFIG_MAP}")
        plane.api.post(path, {"metadata": {"name": CONFIG_MAP}, "data": dict(configs or contents())})
        yield
        plane.api.delete(f"{path}/{CONFIG_MAP}")


@contextmanager
def plugin_installed(
    plane: ControlPlane,
    *,
    chart: PluginChart = CHART,
    configs: Mapping[str, str] | None = None,
    restart_plugin: bool = False,
) -> Iterator[DevicePlugin]:
    """The device plugin, its profiles and our rights there, `restart-plugin.yaml` among them if so told.

    `configs`: the ConfigMap's data, where they are not those that we ship.
    """
    right = (SHARING / "restart-plugin.yaml").read_text()
    with profiles_shipped(plane, configs):
        if restart_plugin:
            plane.kubectl("apply", "-f", "-", text=right)
        try:
            with DevicePlugin(plane, chart) as plugin:
                yield plugin
        finally:
            if restart_plugin:
                plane.kubectl("delete", "-f", "-", text=right)


@contextmanager
def plugging(plane: ControlPlane, scripts: Mapping[str, PluginScript]) -> Iterator[Callable[[Json, Machine], Machine]]:
    """What Karpenter's machines are dressed with: a GPU and a place for plugins, that behave so by their NodePool."""
    with ExitStack() as places:

        def dresses(claim: Json, machine: Machine) -> Machine:
            # Short: the path of a socket has about 100 characters.
            place = Place(Path(places.enter_context(tempfile.TemporaryDirectory(prefix="plugins-"))))
            place.tell(scripts.get(claim["metadata"]["labels"][objects.NODEPOOL], PluginScript()))
            return plugged(plane, replace(machine, status_seconds=2), place)

        yield dresses


def told(node: Json, kind: str = names.SHARING_CONDITION) -> str:
    """`True/Sliced`: a condition's status and reason; empty where there is none."""
    found = _condition(node, kind)
    return f"{found['status']}/{found['reason']}" if found else ""


def sentence(node: Json) -> str:
    """What the node says of its sharing."""
    return str(_condition(node, names.SHARING_CONDITION).get("message", ""))


def taints(node: Json) -> list[str]:
    """Their keys, in order."""
    return [one["key"] for one in node["spec"].get("taints", [])]


def profile(node: Json) -> str | None:
    """The value of the plugin's label."""
    value: str | None = node["metadata"]["labels"].get(names.PLUGIN_CONFIG)
    return value


def offered(node: Json) -> str | None:
    """How many GPUs or slices pods may ask for."""
    value: str | None = node["status"]["allocatable"].get(GPU)
    return value


def _condition(node: Json, kind: str) -> Json:
    return next((one for one in node["status"]["conditions"] if one["type"] == kind), {})
