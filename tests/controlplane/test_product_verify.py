"""Does `gpu-reconciler verify` tell the truth on a real cluster? Real scheduler, kubelet, Job controller and probe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model import names, verification_record
from reconciler.model.verification_record import Result, VerificationRecord
from reconciler.sandbox import nvml_double
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.product import MEMORY, Installation, Ran, g4dn_with_driver, reason
from tests.controlplane.replica import NAMESPACE, Replica
from tests.controlplane.waiting import eventually

Kubelets = Callable[..., HollowKubelet]
Replicas = Callable[..., Replica]

JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SHORT = {"verify.deadline": "10s"}


@pytest.fixture
def cluster(installation: Installation) -> Iterator[Installation]:
    """The product's manifests on the cluster, and no trace of earlier replicas."""
    installation.forget()
    yield installation
    installation.forget()


def told(ran: Ran) -> Json:
    """The one node's verification, steps by name."""
    [node] = json.loads(ran.output)
    return {**node, "steps": {step["name"]: step for step in node["steps"]}}


def failed(found: Json) -> dict[str, str]:
    """The steps that failed, with their sentences."""
    return {name: step["sentence"] for name, step in found["steps"].items() if step["state"] == "failed"}


def verify_pods(plane: ControlPlane) -> list[Json]:
    """The pods of verify Jobs."""
    return [
        pod
        for pod in plane.api.get(PODS)["items"]
        if pod["metadata"].get("labels", {}).get(names.LABEL_PROBE) == "verify"
    ]


def test_a_node_that_keeps_its_promise_is_verified_with_the_rights_of_the_controller(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, cluster: Installation, replica: Replicas, tmp_path: Path
) -> None:
    """The pod goes through the real scheduler, takes the GPU and a little memory, and gives both back."""
    replica().lead()
    kubelet = hollow_kubelet(g4dn_with_driver(tmp_path))
    eventually(lambda: reason(control_plane, kubelet.path) == "Verified", "the node is probed", 60)

    ran = cluster.command("verify", kubelet.name, "-o", "json")
    found = told(ran)
    assert (ran.code, found["result"]) == (0, "verified"), ran.errors
    assert {step["state"] for step in found["steps"].values()} == {"ok"}
    assert "as the probe of this boot says" in found["steps"]["memory"]["sentence"]
    writes = eventually(ran.writes, "the audit log has it")
    assert [(call.verb, call.resource, call.status) for call in writes] == [("create", "jobs", 201)]

    job = control_plane.api.get(f"{JOBS}/{found['job']}")
    limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert (limits[names.GPU_RESOURCE], limits[MEMORY]) == ("1", "64Mi")
    [pod] = verify_pods(control_plane)
    conditions = {one["type"]: one["status"] for one in pod["status"]["conditions"]}
    assert (pod["spec"]["nodeName"], conditions["PodScheduled"]) == (kubelet.name, "True")
    assert reason(control_plane, kubelet.path) == "Verified", "what a pod saw is no probe's answer"

    again = cluster.command("verify", "--all")
    assert again.code == 0, again.errors
    assert f"{kubelet.name}: verified" in again.output


def test_a_node_whose_gpu_is_taken_is_not_verified_and_the_schedulers_words_say_why(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, cluster: Installation, namespace: str, tmp_path: Path
) -> None:
    kubelet = hollow_kubelet(g4dn_with_driver(tmp_path))
    tenant = pod_asking("tenant", {names.GPU_RESOURCE: "1"})
    tenant["spec"]["nodeSelector"] = {"kubernetes.io/hostname": kubelet.name}
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", tenant)
    eventually(lambda: phase_and_reason(control_plane, namespace, "tenant")[0] == "Running", "the GPU is taken", 30)

    ran = cluster.command("verify", kubelet.name, "-o", "json", settings=SHORT)
    assert ran.code == 1
    [(name, sentence)] = failed(told(ran)).items()
    assert name == "scheduled"
    assert "not scheduled before the Job's deadline" in sentence
    assert "Insufficient nvidia.com/gpu" in sentence
    assert f"{kubelet.name}: waits for a place" in ran.errors
    assert phase_and_reason(control_plane, namespace, "tenant")[0] == "Running", "nobody is displaced"


def test_a_pod_that_the_kubelet_refuses_is_told_with_the_kubelets_own_reason(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, cluster: Installation, tmp_path: Path
) -> None:
    """What the scheduler believed is no longer so when the kubelet admits the pod."""
    kubelet = hollow_kubelet(g4dn_with_driver(tmp_path))

    def offer(amount: str) -> None:
        both = {"capacity": {MEMORY: amount}, "allocatable": {MEMORY: amount}}
        control_plane.api.patch(f"{kubelet.path}/status", {"status": both})

    offer("14910Mi")
    kubelet.stop()
    with ThreadPoolExecutor(1) as aside:
        running = aside.submit(
            cluster.command, "verify", kubelet.name, "-o", "json", settings={"verify.deadline": "60s"}
        )
        eventually(
            lambda: [pod for pod in verify_pods(control_plane) if pod["spec"].get("nodeName")], "it is bound", 30
        )
        offer("0")
        kubelet.start()
        ran = running.result()
    refused = failed(told(ran))
    assert ran.code == 1
    assert f"the kubelet refused the pod: OutOf{MEMORY}" in refused["admitted"]


SEEN: dict[str, tuple[dict[str, str], list[str]]] = {
    "as-promised": ({}, []),
    "another-gpu": (dict(nvml_double.MACHINES["g5.xlarge"]), ["model", "memory"]),
    "all-gpus": (dict(nvml_double.MACHINES["g4dn.12xlarge"]), ["gpus"]),
    "no-driver": (dict(nvml_double.NO_DRIVER), ["driver"]),
    "no-device": ({"NVML_DOUBLE_COUNT": "0"}, ["gpus"]),
    "hangs": ({"NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=hang"}, ["driver"]),
    "no-library": ({"LD_LIBRARY_PATH": ""}, ["library"]),
}
"""What the container runtime of each node gives a pod, and the steps that fail."""


def test_what_pods_see_is_compared_with_what_each_node_promises(
    hollow_kubelet: Kubelets, cluster: Installation, tmp_path: Path
) -> None:
    """Every node says that it has one T4, by the labels of GPU Feature Discovery; there is no controller."""
    machine = g4dn_with_driver(tmp_path)
    labels = {names.GFD_COUNT: "1", names.GFD_PRODUCT: "Tesla-T4", names.GFD_MEMORY: "15360"}
    machine = replace(machine, labels={**machine.labels, **labels})
    for name, (double, _) in SEEN.items():
        hollow_kubelet(replace(machine, run_env={**machine.run_env, **double}), name)
    ran = cluster.command("verify", "--all", "-o", "json", settings={"verify.deadline": "30s"})
    found = {
        node["node"]: [step["name"] for step in node["steps"] if step["state"] == "failed"]
        for node in json.loads(ran.output)
    }
    assert found == {name: steps for name, (_, steps) in SEEN.items()}, ran.output
    assert ran.code == 1
    assert ran.errors.splitlines()[-1] == f"not verified: {', '.join(sorted(found.keys() - {'as-promised'}))}"


def test_an_image_that_cannot_be_pulled_is_told(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, cluster: Installation, tmp_path: Path
) -> None:
    kubelet = hollow_kubelet(replace(g4dn_with_driver(tmp_path), missing_image="example.com/nowhere"))
    settings = {**SHORT, "verify.image": "example.com/nowhere:1"}
    ran = cluster.command("verify", kubelet.name, "-o", "json", settings=settings)
    [(name, sentence)] = failed(told(ran)).items()
    assert (ran.code, name) == (1, "image")
    assert "the image cannot be pulled" in sentence


def test_whoever_stops_it_takes_the_job_along(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, cluster: Installation, tmp_path: Path
) -> None:
    """By a person's own rights; the controller's account may not delete Jobs."""
    machine = g4dn_with_driver(tmp_path)
    hanging = {**machine.run_env, "NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=hang"}
    kubelet = hollow_kubelet(replace(machine, run_env=hanging))
    person = cluster.replica("person", {"kubernetes.kubeconfig": control_plane.kubeconfig})
    command = [sys.executable, "-m", "reconciler", "verify", kubelet.name]
    with subprocess.Popen(
        command, env={**os.environ, **person.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        eventually(lambda: verify_pods(control_plane), "the pod is made", 30)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 1
    assert "stopped before all was looked at" in errors.decode()
    eventually(lambda: not control_plane.api.get(JOBS)["items"], "the Job is gone")


def test_a_node_is_verified_by_itself_when_it_joins_where_people_want_it(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, replica: Replicas, tmp_path: Path
) -> None:
    """After its own probe, once, and by two writes: a Job and an annotation."""
    one = replica("one", {"verify.at_join": True}).lead()
    kubelet = hollow_kubelet(g4dn_with_driver(tmp_path, taints=(f"{names.STARTUP_TAINT}=:NoSchedule",)))

    def record() -> VerificationRecord | None:
        text = kubelet.node()["metadata"].get("annotations", {}).get(names.VERIFIED)
        found = verification_record.parse(text) if text is not None else None
        return found if isinstance(found, VerificationRecord) else None

    found = eventually(record, "the node is verified", 90)
    node = kubelet.node()
    assert (found.result, found.boot_id) == (Result.VERIFIED, node["status"]["nodeInfo"]["bootID"])
    made = [
        call.name for call in one.calls() if call.resource == "jobs" and call.verb == "create" and call.status == 201
    ]
    assert sum(name.startswith("gpu-verify-") for name in made) == 1
