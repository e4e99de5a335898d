"""What does the server fill in that the client left out? Pod defaults, first status, what admission adds to a node."""

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import DEFINITIONS, DEPLOYMENTS, JOBS, NODES, PODS, Kind

NOT_READY = "node.kubernetes.io/not-ready"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
UNREACHABLE = "node.kubernetes.io/unreachable"

_GENERATIONS_START_LATE = ("nodes", "configmaps", "events", "leases", "serviceaccounts", "namespaces")
"""Resources whose metadata carries no generation."""


def counts_generations(kind: Kind) -> bool:
    return kind.plural not in _GENERATIONS_START_LATE


def on_create(kind: Kind, obj: Json) -> None:
    """Fill in what only a new object gets."""
    if kind == PODS:
        obj["status"] = {"phase": "Pending", "qosClass": _quality(obj.get("spec") or {})}
        _tolerate_for_five_minutes(obj)
    elif kind == NODES:
        # Admission (nodetaint) puts this on every new node; the life-cycle controller takes it off again.
        taints = obj.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint.get("key") == NOT_READY for taint in taints):
            taints.append({"key": NOT_READY, "effect": "NoSchedule"})
        obj.setdefault("status", {})
    elif kind == DEFINITIONS:
        names = obj["spec"]["names"]
        established = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}
        obj["status"] = {"conditions": [established], "acceptedNames": names}
    elif kind.status:
        obj.pop("status", None)
        if not kind.custom:
            obj["status"] = {"phase": "Active"} if kind.plural == "namespaces" else {}


def on_write(kind: Kind, obj: Json) -> None:
    """Fill in what every write gets again."""
    if kind == PODS:
        _pod(obj.setdefault("spec", {}))
    elif kind == JOBS:
        spec = obj.setdefault("spec", {})
        for key, value in (("parallelism", 1), ("completions", 1), ("backoffLimit", 6), ("suspend", False)):
            spec.setdefault(key, value)
        spec.setdefault("template", {}).setdefault("spec", {})
    elif kind == DEPLOYMENTS:
        obj.setdefault("spec", {}).setdefault("replicas", 1)


def _pod(spec: Json) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("priority", _PRIORITIES.get(spec.get("priorityClassName", ""), 0))
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("imagePullPolicy", "IfNotPresent")
        resources = container.setdefault("resources", {})
        for name, limit in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, limit)


_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def _tolerate_for_five_minutes(obj: Json) -> None:
    """Admission DefaultTolerationSeconds."""
    tolerations = obj.setdefault("spec", {}).setdefault("tolerations", [])
    for key in (NOT_READY, UNREACHABLE):
        if not any(
            each.get("key") in (key, None) and each.get("effect") in ("NoExecute", None) for each in tolerations
        ):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _quality(spec: Json) -> str:
    """The quality-of-service class, from cpu and memory alone."""
    every = [container.get("resources") or {} for container in spec.get("containers", [])]
    named = [each.get(part) or {} for each in every for part in ("requests", "limits")]
    if not any(name in ("cpu", "memory") for amounts in named for name in amounts):
        return "BestEffort"
    guaranteed = all(
        (each.get("limits") or {}).get(name) is not None
        and (each.get("requests") or {}).get(name, each["limits"][name]) == each["limits"][name]
        for each in every
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if guaranteed else "Burstable"
