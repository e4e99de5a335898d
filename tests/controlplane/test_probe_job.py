"""Does our probe Job run on a real kubelet, and what does the kubelet make of the ways in which it ends?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kube.probe_job import manifest
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.plan import RunProbe
from reconciler.model.probe_report import parse
from reconciler.sandbox import nvml_double
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.waiting import eventually
from tests.probe.double import ROOT, built

Kubelets = Callable[..., HollowKubelet]

T4 = Machine(status_seconds=2, runs="reconciler.probe", run_env={"PYTHONPATH": str(ROOT)})


def with_gpus(machine: Machine, library: Path, double: Mapping[str, str]) -> Machine:
    """The machine with a driver: the NVML double, set to play `double`."""
    return replace(machine, run_env={**machine.run_env, "LD_LIBRARY_PATH": str(library.parent), **double})


def start_probe(plane: ControlPlane, namespace: str, kubelet: HollowKubelet, **settings: object) -> Callable[[], Json]:
    """Make the Job that the controller would make; the answer is its pod as it is at each moment."""
    node = NodeKey(NodeName(kubelet.name), kubelet.node()["metadata"]["uid"])
    order = RunProbe(node=node, boot_id="boot", instance_type=None)
    job = manifest(order, replace(ProbeJobSettings(namespace=namespace, image="example.com/probe:1"), **settings))  # type: ignore[arg-type]  # names of its fields
    plane.api.post(f"/apis/batch/v1/namespaces/{namespace}/jobs", json.loads(job))

    def pod() -> Json:
        pods = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return pods[0] if pods else {"status": {}}

    return pod


def container_state(pod: Json) -> Json:
    """status.containerStatuses[0].state, empty before the kubelet has written one."""
    statuses = pod["status"].get("containerStatuses") or [{}]
    state: Json = statuses[0].get("state", {})
    return state


def job_condition(plane: ControlPlane, namespace: str) -> tuple[str, str] | None:
    """Type and reason of the condition that ended the namespace's only Job."""
    job = plane.api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs")["items"][0]
    ended = [c for c in job["status"].get("conditions", []) if c["type"] in ("Complete", "Failed")]
    return (ended[0]["type"], ended[0].get("reason", "")) if ended else None


def test_the_probe_reports_through_its_termination_message(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, namespace: str, tmp_path: Path
) -> None:
    """The real program reads NVML as a process, and the report comes out of pod status, 3 s after the order."""
    kubelet = hollow_kubelet(with_gpus(T4, built(tmp_path), nvml_double.MACHINES["g4dn.xlarge"]))
    pod = start_probe(control_plane, namespace, kubelet)
    terminated = eventually(lambda: container_state(pod()).get("terminated"), "the probe ends", 20)
    assert terminated["exitCode"] == 0
    (gpu,) = parse(terminated["message"]).gpus
    assert (gpu.name, gpu.total) == ("Tesla T4", 15360 * 2**20)
    assert eventually(lambda: job_condition(control_plane, namespace), "the Job is over")[0] == "Complete"


@pytest.mark.parametrize(
    ("double", "code", "ended"),
    [
        (nvml_double.MISMATCHED_DRIVER, 20, ("Failed", "PodFailurePolicy")),
        (nvml_double.NO_DRIVER, 11, ("Failed", "BackoffLimitExceeded")),
    ],
    ids=["final", "may-change"],
)
def test_a_final_verdict_ends_the_job_at_once_and_another_is_tried_again(
    double: Mapping[str, str],
    code: int,
    ended: tuple[str, str],
    control_plane: ControlPlane,
    hollow_kubelet: Kubelets,
    namespace: str,
    tmp_path: Path,
) -> None:
    """The exit codes and the Job's failure policy say the same thing to a real Job controller."""
    kubelet = hollow_kubelet(with_gpus(T4, built(tmp_path), double))
    pod = start_probe(control_plane, namespace, kubelet, backoff_limit=0)
    terminated = eventually(lambda: container_state(pod()).get("terminated"), "the probe ends", 20)
    assert terminated["exitCode"] == code
    assert parse(terminated["message"]).gpus == ()
    assert eventually(lambda: job_condition(control_plane, namespace), "the Job is over") == ended


def test_an_image_that_cannot_be_pulled_is_told_by_the_waiting_reason(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, namespace: str
) -> None:
    """Nothing will ever terminate, so the controller has to read `waiting`."""
    kubelet = hollow_kubelet(replace(T4, missing_image="example.com/probe"))
    pod = start_probe(control_plane, namespace, kubelet)
    waiting = ("ErrImagePull", "ImagePullBackOff")
    eventually(lambda: container_state(pod()).get("waiting", {}).get("reason") in waiting, "the pull fails")


def test_a_probe_that_hangs_is_ended_by_the_jobs_deadline(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, namespace: str, tmp_path: Path
) -> None:
    """A driver that never answers costs a Job its deadline, and nothing after it."""
    hang = {"NVML_DOUBLE_ERRORS": "nvmlInitWithFlags=hang"}
    kubelet = hollow_kubelet(with_gpus(T4, built(tmp_path), hang))
    start_probe(control_plane, namespace, kubelet, deadline=3)
    begun = time.monotonic()
    ended = eventually(lambda: job_condition(control_plane, namespace), "the Job is over", 30)
    assert ended == ("Failed", "DeadlineExceeded")
    assert time.monotonic() - begun < 15
