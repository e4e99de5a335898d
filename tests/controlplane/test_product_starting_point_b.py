"""Starting point B, unchanged: one GPU shows as four slots, pods that ask for one and for two land, the fifth waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from reconciler.sandbox.plugin_chart import CHART, OPERATOR, PluginChart
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import DevicePlugin, PluggedNode
from tests.controlplane.plugin_namespace import plugin_namespace, tolerations
from tests.controlplane.product import Installation, g4dn_with_driver
from tests.controlplane.waiting import eventually
from tests.deploy.objects import EXAMPLES

EXAMPLE = EXAMPLES / "starting-point-b"
SETTINGS = {"config": EXAMPLE / "settings.yaml"}
GPU = "nvidia.com/gpu"
STARTUP = "gpu-reconciler.io/not-ready"


@pytest.fixture(scope="module")
def node(
    installation: Installation, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PluggedNode]:
    """A g4dn.xlarge of the GPU Operator's, closed until it is ready, with the controller running."""
    installation.forget()
    chart = PluginChart(
        flavour=replace(OPERATOR, command=CHART.command),  # the operator's is a script of the image's
        namespace="gpu-operator",
        external="time-slicing-config-all",
        default="any",
        tolerations=tolerations("values-gpu-operator.yaml"),
    )
    machine = g4dn_with_driver(tmp_path_factory.mktemp("driver"), taints=(f"{STARTUP}=:NoSchedule",))
    with plugin_namespace(control_plane, chart.namespace, chart.config_map):
        control_plane.kubectl("apply", "-f", str(EXAMPLE / "config-map.yaml"))
        with (
            DevicePlugin(control_plane, chart),
            installation.replica("one", SETTINGS) as one,
            PluggedNode(control_plane, "starting-point-b", machine) as plugged,
        ):
            one.lead()
            yield plugged


def pods(plane: ControlPlane, namespace: str) -> list[Json]:
    found: list[Json] = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return found


def running(plane: ControlPlane, namespace: str) -> list[str]:
    """By the name of their Deployment, how many slots each pod that runs was given."""
    return sorted(
        f"{pod['metadata']['labels']['app']} {pod['spec']['containers'][0]['resources']['limits'][GPU]}"
        for pod in pods(plane, namespace)
        if pod["status"]["phase"] == "Running"
    )


def refusals(plane: ControlPlane, namespace: str) -> set[str]:
    """What the scheduler says of the pods that wait."""
    conditions = [one for pod in pods(plane, namespace) for one in pod["status"].get("conditions", [])]
    return {one["message"] for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"}


def shared(node: Json) -> tuple[str, str] | None:
    """Status and reason of the condition GPUSharingReady."""
    found = node["status"]["conditions"]
    return next(((one["status"], one["reason"]) for one in found if one["type"] == "GPUSharingReady"), None)


def test_one_gpu_shows_as_four_pods_of_one_and_two_land_and_the_fifth_slot_waits(
    control_plane: ControlPlane, namespace: str, node: PluggedNode, installation: Installation
) -> None:
    kubelet = node.kubelet
    eventually(lambda: shared(kubelet.node()) == ("True", "Sliced"), "the plugin follows", 60)
    eventually(lambda: not kubelet.node()["spec"].get("taints"), "the node is opened", 40)
    found = kubelet.node()
    assert (kubelet.capacity(GPU), kubelet.allocatable(GPU)) == ("4", "4")
    assert found["metadata"]["labels"]["nvidia.com/device-plugin.config"] == "any"

    control_plane.kubectl("-n", namespace, "apply", "-f", str(EXAMPLE / "deployment.yaml"))
    eventually(lambda: running(control_plane, namespace) == ["gpu-one 1", "gpu-one 1", "gpu-two 2"], "they run", 40)
    control_plane.kubectl("-n", namespace, "scale", "deployment/gpu-one", "--replicas=3")
    eventually(
        lambda: any(f"1 Insufficient {GPU}" in said for said in refusals(control_plane, namespace)), "one waits", 30
    )
    assert len(running(control_plane, namespace)) == 3

    ran = installation.command("explain", kubelet.name, "-o", "json", settings=SETTINGS)
    told: Json = json.loads(ran.output)
    assert (ran.code, told["reason"], told["sharing"]["reason"]) == (0, "Verified", "Sliced")
    assert (told["sharing"]["profile"], told["sharing"]["expected"]) == ("any", 4)
    assert told["actions"] == []
    assert ran.writes() == []
