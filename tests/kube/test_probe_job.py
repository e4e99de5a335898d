"""kube/probe_job: the Job is what Kubernetes accepts, and asks for as little as a look at the GPU needs."""

import json
import re
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest

from reconciler.kube.probe_job import FINAL_EXIT_CODES, job_name, manifest
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.plan import RunProbe
from reconciler.model.probe_report import EXIT_CODES

ORDER = RunProbe(NodeKey(NodeName("ip-10-0-0-1.ec2.internal"), "u1"), "b1", None)
SETTINGS = ProbeJobSettings(namespace="gpu", image="registry.example/gpu-reconciler:1")


def job(settings: ProbeJobSettings = SETTINGS) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest(ORDER, settings))
    return found


def pod(settings: ProbeJobSettings = SETTINGS) -> dict[str, Any]:
    found: dict[str, Any] = job(settings)["spec"]["template"]["spec"]
    return found


FULL = replace(
    SETTINGS,
    image_pull_policy="Always",
    image_pull_secrets=("pull",),
    runtime_class="nvidia",
    service_account="probe",
    priority_class="high",
    extra_capabilities=("SYS_ADMIN",),
    read_only_root=False,
)


@pytest.mark.parametrize("settings", [SETTINGS, FULL], ids=["least", "most"])
def test_it_is_a_job_by_kubernetes_own_schema(settings: ProbeJobSettings) -> None:
    kubernetes_validate.validate(job(settings), "1.36", strict=True)


def test_the_name_tells_node_boot_and_try_apart_and_nothing_else() -> None:
    names = {job_name(uid, boot, serial) for uid in ("u1", "u2") for boot in ("b1", "b2") for serial in (0, 1)}

    assert len(names) == 8
    assert all(re.fullmatch(r"gpu-probe-[0-9a-f]{12}", name) for name in names)
    assert job_name("u1", "b1", 0) == job()["metadata"]["name"]


def test_it_sees_the_gpu_by_both_ways_and_takes_none() -> None:
    container = pod()["containers"][0]

    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in container["env"]
    assert {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"} in container["env"]
    assert pod()["volumes"] == [{"name": "all-gpus", "hostPath": {"path": "/dev/null"}}]
    assert container["volumeMounts"] == [{"name": "all-gpus", "mountPath": "/var/run/nvidia-container-devices/all"}]
    assert not any("nvidia.com" in name for amounts in container["resources"].values() for name in amounts)


def test_it_runs_on_its_node_whatever_taints_there_are() -> None:
    terms = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    expected = {"key": "metadata.name", "operator": "In", "values": ["ip-10-0-0-1.ec2.internal"]}

    assert terms == [{"matchFields": [expected]}]
    assert pod()["tolerations"] == [{"operator": "Exists"}]


def test_it_has_no_token_no_privilege_and_no_root() -> None:
    container = pod()["containers"][0]["securityContext"]

    assert pod()["automountServiceAccountToken"] is False
    assert container == {
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
    }
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not any(key in pod() for key in ("hostPID", "hostNetwork", "serviceAccountName", "runtimeClassName"))


def test_a_capability_is_added_only_where_it_was_asked_for() -> None:
    """With SYS_ADMIN the API server refuses `allowPrivilegeEscalation: false`."""
    container = pod(FULL)["containers"][0]["securityContext"]

    assert container["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    assert container["allowPrivilegeEscalation"] is True


def test_a_final_exit_code_ends_the_job_and_others_are_tried_again() -> None:
    rules = job()["spec"]["podFailurePolicy"]["rules"]

    assert rules[0] == {"action": "FailJob", "onExitCodes": {"operator": "In", "values": FINAL_EXIT_CODES}}
    assert sorted(code for code in EXIT_CODES.values() if code >= 20) == FINAL_EXIT_CODES
    assert rules[1]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert job()["spec"]["backoffLimit"] == 3


def test_it_goes_when_its_node_goes_and_after_a_while_by_itself() -> None:
    assert job()["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "ip-10-0-0-1.ec2.internal", "uid": "u1"}
    ]
    assert job()["spec"]["ttlSecondsAfterFinished"] == 600
    assert job()["spec"]["activeDeadlineSeconds"] == 300


def test_its_pods_carry_what_leads_back_to_the_node() -> None:
    template = job()["spec"]["template"]["metadata"]

    assert template["labels"] == job()["metadata"]["labels"] == {"gpu-reconciler.io/probe": "gpu"}
    assert template["annotations"] == {
        "gpu-reconciler.io/node": "ip-10-0-0-1.ec2.internal",
        "gpu-reconciler.io/node-uid": "u1",
        "gpu-reconciler.io/boot-id": "b1",
    }


def test_the_settings_reach_the_pod() -> None:
    assert pod(FULL)["runtimeClassName"] == "nvidia"
    assert pod(FULL)["imagePullSecrets"] == [{"name": "pull"}]
    assert pod(FULL)["serviceAccountName"] == "probe"
    assert pod(FULL)["priorityClassName"] == "high"
    assert pod(FULL)["containers"][0]["imagePullPolicy"] == "Always"
