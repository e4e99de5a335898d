"""Starting point A, unchanged: do the pods land by memory, and who stops the next one, memory or the number of pods?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.product import MEMORY, PROBED, Installation, g4dn_with_driver, memory
from tests.controlplane.waiting import eventually
from tests.deploy.objects import EXAMPLES

EXAMPLE = EXAMPLES / "starting-point-a"
SETTINGS = {"config": EXAMPLE / "settings.yaml"}
ALLOCATABLE = PROBED - 30  # the margin of settings.yaml


@pytest.fixture(scope="module")
def node(
    installation: Installation, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HollowKubelet]:
    """A g4dn.xlarge whose memory is advertised, with the controller running."""
    installation.forget()
    machine = g4dn_with_driver(tmp_path_factory.mktemp("driver"), max_pods=29)
    with (
        installation.replica("one", SETTINGS) as one,
        HollowKubelet(control_plane, "starting-point-a", machine) as kubelet,
    ):
        one.lead()
        eventually(lambda: memory(control_plane, kubelet.path) == (ALLOCATABLE, ALLOCATABLE), "NVML's figure", 60)
        yield kubelet


def running(plane: ControlPlane, namespace: str) -> int:
    """How many pods run."""
    pods = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


def bound(plane: ControlPlane, namespace: str) -> int:
    """How many pods the scheduler has found a place for."""
    pods = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return sum("nodeName" in pod["spec"] for pod in pods)


def refusals(plane: ControlPlane, namespace: str) -> set[str]:
    """What the scheduler says of the pods that wait."""
    pods = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    conditions = [one for pod in pods for one in pod["status"].get("conditions", [])]
    return {one["message"] for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"}


def test_six_pods_run_and_memory_stops_the_first_one_that_asks_for_a_mebibyte_too_much(
    control_plane: ControlPlane, namespace: str, node: HollowKubelet
) -> None:
    """Their Deployment as it is; the true limit is exact, and the scheduler names the resource."""
    control_plane.kubectl("-n", namespace, "apply", "-f", str(EXAMPLE / "deployment.yaml"))
    eventually(lambda: running(control_plane, namespace) == 6, "six pods of 104Mi run", 40)

    pods = f"/api/v1/namespaces/{namespace}/pods"
    left = ALLOCATABLE - 6 * 104
    control_plane.api.post(pods, pod_asking("too-large", {MEMORY: f"{left + 1}Mi"}))
    eventually(
        lambda: any(f"1 Insufficient {MEMORY}" in said for said in refusals(control_plane, namespace)),
        "the scheduler names the resource",
    )
    control_plane.api.post(pods, pod_asking("all-that-is-left", {MEMORY: f"{left}Mi"}))
    eventually(
        lambda: phase_and_reason(control_plane, namespace, "all-that-is-left")[0] == "Running", "the rest is usable", 30
    )
    assert phase_and_reason(control_plane, namespace, "too-large")[0] == "Pending"


def test_small_pods_stop_at_the_number_of_pods_and_explain_says_so_from_the_cluster_and_from_a_file(
    control_plane: ControlPlane, namespace: str, node: HollowKubelet, installation: Installation, tmp_path: Path
) -> None:
    """145 would fit on paper; 29 is what the instance type's network interfaces allow."""
    control_plane.kubectl("-n", namespace, "apply", "-f", str(EXAMPLE / "deployment.yaml"))
    control_plane.kubectl("-n", namespace, "scale", "deployment/gpu-example", "--replicas=32")
    eventually(lambda: bound(control_plane, namespace) == 29, "29 pods are bound", 30)
    eventually(lambda: any("1 Too many pods" in said for said in refusals(control_plane, namespace)), "3 wait")

    live = installation.command("explain", node.name, "-o", "json", settings=SETTINGS)
    dump = tmp_path / "dump.json"
    dump.write_text(control_plane.kubectl("get", "nodes,pods", "-A", "-o", "json"))
    filed = installation.command("explain", node.name, "--from", str(dump), "-o", "json", settings=SETTINGS)
    for ran in (live, filed):
        assert (ran.code, ran.errors) == (0, "")
        told: Json = json.loads(ran.output)
        assert (told["node"], told["mib"], told["source"], told["reason"]) == (
            node.name,
            ALLOCATABLE,
            "nvml",
            "Verified",
        )
        assert told["limits"] == [
            {"resource": "pods", "fits": 0, "total": 29, "binds": True},
            {"resource": MEMORY, "fits": (ALLOCATABLE - 29 * 104) // 104, "total": ALLOCATABLE // 104, "binds": False},
        ]
        assert told["actions"] == []
        assert ran.writes() == []
