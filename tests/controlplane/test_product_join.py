"""What does a node's join cost, and in which order do its writes come? The product on real kubelet code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from reconciler.model import names, record
from reconciler.model.probe_state import Probed
from tests.aws import ec2_double
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.product import MEMORY, PROBED, UNPROBED, g4dn_with_driver, memory, reason
from tests.controlplane.replica import Replica
from tests.controlplane.waiting import eventually

Kubelets = Callable[..., HollowKubelet]
Replicas = Callable[..., Replica]


@pytest.fixture
def silent_ec2() -> Iterator[ec2_double.Double]:
    """An EC2 that takes every question and never answers."""
    with ec2_double.serving(ec2_double.always(None)) as double:
        yield double


def test_a_node_is_schedulable_after_two_calls_that_wait_for_no_ec2_and_open_once_nvml_has_spoken(
    control_plane: ControlPlane,
    hollow_kubelet: Kubelets,
    replica: Replicas,
    namespace: str,
    silent_ec2: ec2_double.Double,
    tmp_path: Path,
) -> None:
    """The whole join in API calls: allocatable with the second, the real probe's figure next, then the taint goes."""
    one = replica("one", {"aws.enabled": True, "aws.endpoint_url": silent_ec2.url}).lead()
    pods = f"/api/v1/namespaces/{namespace}/pods"
    control_plane.api.post(pods, pod_asking("waiting", {MEMORY: f"{PROBED}Mi"}))
    kubelet = hollow_kubelet(g4dn_with_driver(tmp_path, taints=(f"{names.STARTUP_TAINT}=:NoSchedule",)))

    eventually(lambda: "taints" not in kubelet.node()["spec"], "the startup taint is removed", 60)
    eventually(lambda: phase_and_reason(control_plane, namespace, "waiting")[0] == "Running", "the pod runs", 30)

    node = kubelet.node()
    assert memory(control_plane, kubelet.path) == (PROBED, PROBED)
    assert reason(control_plane, kubelet.path) == "Verified"
    assert node["metadata"]["labels"][names.LABEL_SOURCE] == "nvml"
    told = record.parse(node["metadata"]["annotations"][names.RECORD])
    assert isinstance(told, record.CapacityRecord)
    assert isinstance(told.probe, Probed)
    assert (told.probe.report.gpus[0].name, told.boot_id) == ("Tesla T4", node["status"]["nodeInfo"]["bootID"])

    # 409: the node changed before the watch told of the Job, which was ordered again and is there.
    joined = [call for call in one.calls() if call.verb != "watch" and call.resource != "leases" and call.status != 409]
    assert [(call.verb, call.resource) for call in joined] == [
        ("create", "events"),
        ("patch", "nodes/status"),  # schedulable from here on
        ("create", "jobs"),
        ("create", "events"),
        ("patch", "nodes/status"),  # by NVML
        ("get", "configmaps"),  # the first node of its type: what was learned is kept
        ("create", "configmaps"),
        ("patch", "nodes"),  # the startup taint
    ]
    first, second = (call.body or {} for call in joined if call.resource == "nodes/status")
    for body, mib in ((first, UNPROBED), (second, PROBED)):
        assert body["status"]["capacity"] == body["status"]["allocatable"] == {MEMORY: f"{mib}Mi"}
    created = datetime.fromisoformat(node["metadata"]["creationTimestamp"])
    assert joined[0].at - created < timedelta(seconds=5)  # a timestamp is up to a second old when it is made
    assert silent_ec2.requests, "EC2 is asked too"

    begun = time.monotonic()
    one.process.stop(grace=30)
    assert time.monotonic() - begun < 15, "SIGTERM is held up by a question that nobody answers"


def test_the_next_node_of_the_type_starts_with_what_the_first_one_taught(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, replica: Replicas, tmp_path: Path
) -> None:
    """By another replica, which has it from the catalog alone."""
    machine = g4dn_with_driver(tmp_path)
    teacher = replica("teacher").lead()
    first = hollow_kubelet(machine)
    eventually(lambda: reason(control_plane, first.path) == "Verified", "the first node is probed", 60)
    teacher.process.stop(grace=20)

    learner = replica("learner").lead()
    second = hollow_kubelet(machine)
    eventually(lambda: reason(control_plane, second.path) == "Verified", "the second node is probed", 60)
    body = next(call.body for call in learner.writes() if call.name == second.name)
    assert body is not None
    assert body["status"]["allocatable"] == {MEMORY: f"{PROBED}Mi"}
    assert [one["reason"] for one in body["status"]["conditions"]] == ["Learned"]
