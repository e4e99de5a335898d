"""kube/verify_job: the Job takes a GPU as any pod does, and its making and removal end well whatever stands there."""

import json
import re
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest

from reconciler.kube import probe_job
from reconciler.kube.fence import unfenced
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.verify_job import VerifyJobs, job_name, manifest
from reconciler.model import names
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.trial import RunVerification
from reconciler.runtime.errors import Rejected
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.kinds import JOBS
from tests.kube.world import World, virtual

NODE = NodeKey(NodeName("ip-10-0-0-1.ec2.internal"), "u1")
ORDER = RunVerification(NODE, "b1", {names.GPU_SHARED_RESOURCE: 1, names.MEMORY_RESOURCE: 64 * 2**20})
SETTINGS = ProbeJobSettings(namespace="gpu", image="registry.example/gpu-reconciler:1", backoff_limit=0, deadline=120)
FULL = replace(
    SETTINGS, runtime_class="nvidia", priority_class="low", service_account="probe", image_pull_secrets=("p",)
)


def job(settings: ProbeJobSettings = SETTINGS, order: RunVerification = ORDER) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest(order, settings))
    return found


def pod(settings: ProbeJobSettings = SETTINGS) -> dict[str, Any]:
    found: dict[str, Any] = job(settings)["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("settings", [SETTINGS, FULL], ids=["least", "most"])
def test_it_is_a_job_by_kubernetes_own_schema(settings: ProbeJobSettings) -> None:
    kubernetes_validate.validate(job(settings), "1.36", strict=True)


def test_it_asks_for_the_gpu_and_a_little_memory_in_requests_and_limits_alike() -> None:
    resources = pod()["containers"][0]["resources"]
    extended = {names.GPU_SHARED_RESOURCE: "1", names.MEMORY_RESOURCE: "64Mi"}
    assert resources["requests"] == {"cpu": "10m", "memory": "64Mi", **extended}
    assert resources["limits"] == {"memory": "64Mi", **extended}


def test_it_does_nothing_to_see_a_gpu_that_an_ordinary_pod_would_not_do() -> None:
    container = pod()["containers"][0]
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert "NVIDIA_VISIBLE_DEVICES" not in variables
    assert variables == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "GPU_PROBE_DEADLINE_SECONDS": "60"}
    assert not any(key in pod() for key in ("volumes", "runtimeClassName", "hostPID", "nodeName"))
    assert "volumeMounts" not in container
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_it_goes_through_the_scheduler_to_its_node_whatever_taints_there_are() -> None:
    terms = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [str(NODE.name)]}]}]
    assert pod()["tolerations"] == [{"operator": "Exists"}]


def test_it_is_told_apart_from_probes_by_label_and_name() -> None:
    assert job()["metadata"]["labels"] == {names.LABEL_PROBE: "verify"}
    assert job()["spec"]["template"]["metadata"]["labels"] == {names.LABEL_PROBE: "verify"}
    same = [one(NODE.uid, "b1", 0) for one in (job_name, probe_job.job_name)]
    assert re.fullmatch(r"gpu-verify-[0-9a-f]{12}", same[0])
    assert same[0] != same[1]


def test_the_name_tells_node_boot_and_try_apart_and_nothing_else() -> None:
    assert len({job_name(uid, boot, serial) for uid in "ab" for boot in "cd" for serial in (0, 1)}) == 8
    assert job()["metadata"]["name"] == job_name("u1", "b1", 0)
    assert job(order=replace(ORDER, serial=3))["metadata"]["name"] == job_name("u1", "b1", 3)


def test_it_is_tried_once_and_ends_and_goes_by_itself() -> None:
    spec = job()["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (0, 120, 600)
    assert [rule["action"] for rule in spec["podFailurePolicy"]["rules"]] == ["Ignore"]
    assert job()["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_the_program_gives_up_before_its_job_does() -> None:
    short = job(replace(SETTINGS, deadline=10))["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "GPU_PROBE_DEADLINE_SECONDS", "value": "5.0"} in short


@virtual
async def test_a_job_is_made_once_and_removed_also_when_it_is_gone() -> None:
    world = World()
    jobs = VerifyJobs(world.transport, SETTINGS, may_write=unfenced)
    world.faults.add(Answer(Response(404, b'{"message": "namespaces not found"}')), method="POST", times=1)
    with pytest.raises(Rejected, match="the namespace gpu is missing"):
        await jobs.run(ORDER)
    assert [await jobs.run(ORDER), await jobs.run(ORDER)] == [True, False]
    assert [one["metadata"]["name"] for one in world.store.all(JOBS)] == [job_name("u1", "b1", 0)]
    for _ in range(2):
        await jobs.remove(job_name("u1", "b1", 0))
    assert world.store.all(JOBS) == []
