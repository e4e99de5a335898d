"""What does the Job look like that asks NVML on one node? No token, no node rights, no privilege, no GPU of its own.

How it sees the GPU without taking one (nvidia-container-toolkit, internal/config/image): where the toolkit honours the
environment of plain containers (AL2023's AMI), NVIDIA_VISIBLE_DEVICES does it; where it only honours mounts
(Bottlerocket), /dev/null under /var/run/nvidia-container-devices does. Each ignores the other, so both are given.
"""

import hashlib
from typing import Any

import msgspec

from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import names
from reconciler.model.plan import RunProbe
from reconciler.model.probe_report import EXIT_CODES, FIRST_FINAL_EXIT_CODE

PROBE_LABEL_VALUE = "gpu"
FINAL_EXIT_CODES = sorted(code for code in EXIT_CODES.values() if code >= FIRST_FINAL_EXIT_CODE)


def job_name(uid: str, boot_id: str, serial: int) -> str:
    """The same node, boot and try always give the same name: a repeated order is a conflict, not a second Job."""
    digest = hashlib.sha256(f"{uid}/{boot_id}/{serial}".encode()).hexdigest()
    return f"gpu-probe-{digest[:12]}"


def manifest(order: RunProbe, settings: ProbeJobSettings) -> bytes:
    """The Job as JSON."""
    labels = {names.LABEL_PROBE: PROBE_LABEL_VALUE}
    annotations = {
        names.ANNOTATION_NODE: str(order.node.name),
        names.ANNOTATION_NODE_UID: order.node.uid,
        names.ANNOTATION_BOOT_ID: order.boot_id,
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(order.node.uid, order.boot_id, order.serial),
            "namespace": settings.namespace,
            "labels": labels,
            "annotations": annotations,
            # A node that is replaced takes its probe along.
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": str(order.node.name), "uid": order.node.uid}
            ],
        },
        "spec": {
            "backoffLimit": settings.backoff_limit,
            "activeDeadlineSeconds": settings.deadline,
            "ttlSecondsAfterFinished": settings.ttl,
            "podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": FINAL_EXIT_CODES}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": _pod(order, settings),
            },
        },
    }
    return msgspec.json.encode(job)


def _pod(order: RunProbe, settings: ProbeJobSettings) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _only(order)}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.user,
            "runAsGroup": settings.user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": [{"name": "all-gpus", "hostPath": {"path": "/dev/null"}}],
        "containers": [_container(settings)],
    }
    if settings.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    names_of = {
        "runtimeClassName": settings.runtime_class,
        "serviceAccountName": settings.service_account,
        "priorityClassName": settings.priority_class,
    }
    return pod | {field: name for field, name in names_of.items() if name}


def _only(order: RunProbe) -> dict[str, Any]:
    """By affinity and not by nodeName: so the scheduler still counts the pod, and says why when it does not fit."""
    this_node = {"key": "metadata.name", "operator": "In", "values": [str(order.node.name)]}
    return {"nodeSelectorTerms": [{"matchFields": [this_node]}]}


def _container(settings: ProbeJobSettings) -> dict[str, Any]:
    capabilities: dict[str, Any] = {"drop": ["ALL"]}
    if settings.extra_capabilities:
        capabilities["add"] = list(settings.extra_capabilities)
    container: dict[str, Any] = {
        "name": "probe",
        "image": settings.image,
        "command": list(settings.command),
        "env": [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
        ],
        "volumeMounts": [{"name": "all-gpus", "mountPath": "/var/run/nvidia-container-devices/all"}],
        "resources": {
            "requests": {"cpu": settings.cpu, "memory": settings.memory},
            "limits": {"memory": settings.memory},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "capabilities": capabilities,
            "readOnlyRootFilesystem": settings.read_only_root,
            # The API server refuses `false` beside SYS_ADMIN (core/validation, ValidateSecurityContext).
            "allowPrivilegeEscalation": _is_admin(settings),
        },
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    return container


def _is_admin(settings: ProbeJobSettings) -> bool:
    return any(name in ("SYS_ADMIN", "CAP_SYS_ADMIN") for name in settings.extra_capabilities)
