"""What do all our Jobs look like? Bound to one node, without token, rights or privilege, gone by themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import names
from reconciler.model.node import NodeKey

DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
"""A pod that somebody evicted or preempted is replaced, and counts as no failure."""


def job(
    name: str,
    node: NodeKey,
    boot_id: str,
    kind: str,
    settings: ProbeJobSettings,
    *,
    container: Mapping[str, Any],
    volumes: Sequence[Mapping[str, Any]] = (),
    failures: Sequence[Mapping[str, Any]] = (DISRUPTED,),
) -> dict[str, Any]:
    """A Job on that node. `kind` is the value of the label that tells our Jobs apart; `failures` its failure policy."""
    labels = {names.LABEL_PROBE: kind}
    annotations = {
        names.ANNOTATION_NODE: str(node.name),
        names.ANNOTATION_NODE_UID: node.uid,
        names.ANNOTATION_BOOT_ID: boot_id,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": settings.namespace,
            "labels": labels,
            "annotations": annotations,
            # A node that is replaced takes its Job along.
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": str(node.name), "uid": node.uid}],
        },
        "spec": {
            "backoffLimit": settings.backoff_limit,
            "activeDeadlineSeconds": settings.deadline,
            "ttlSecondsAfterFinished": settings.ttl,
            "podFailurePolicy": {"rules": list(failures)},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": _pod(node, settings, container, volumes),
            },
        },
    }


def container(
    settings: ProbeJobSettings, *, env: Mapping[str, str], extended: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The one container, with the probe program in it. `extended`: what it asks for besides cpu and memory."""
    capabilities: dict[str, Any] = {"drop": ["ALL"]}
    if settings.extra_capabilities:
        capabilities["add"] = list(settings.extra_capabilities)
    # Extended resources must be asked for as limits, and a request must be the same (core/validation).
    more = dict(extended or {})
    made: dict[str, Any] = {
        "name": "probe",
        "image": settings.image,
        "command": list(settings.command),
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "resources": {
            "requests": {"cpu": settings.cpu, "memory": settings.memory, **more},
            "limits": {"memory": settings.memory, **more},
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
        made["imagePullPolicy"] = settings.image_pull_policy
    return made


def _pod(
    node: NodeKey, settings: ProbeJobSettings, container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _only(node)}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.user,
            "runAsGroup": settings.user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    if volumes:
        pod["volumes"] = list(volumes)
    if settings.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    names_of = {
        "runtimeClassName": settings.runtime_class,
        "serviceAccountName": settings.service_account,
        "priorityClassName": settings.priority_class,
    }
    return pod | {field: name for field, name in names_of.items() if name}


def _only(node: NodeKey) -> dict[str, Any]:
    """By affinity and not by nodeName: so the scheduler still counts the pod, and says why when it does not fit."""
    this_node = {"key": "metadata.name", "operator": "In", "values": [str(node.name)]}
    return {"nodeSelectorTerms": [{"matchFields": [this_node]}]}


def _is_admin(settings: ProbeJobSettings) -> bool:
    return any(name in ("SYS_ADMIN", "CAP_SYS_ADMIN") for name in settings.extra_capabilities)
