"""What request is an action? Pure: the wire form of each write, and of nothing else."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from reconciler.model import names, quantity
from reconciler.model.node import Condition, NodeKey, Taint
from reconciler.model.plan import Advertise, Announce, ClearTaint, RestartPlugin, SetTaint
from reconciler.runtime.transport import Request

STRATEGIC_MERGE = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json"
BRIEF = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""Of answers only the version is read, so the server need not write the whole object."""

REPORTER = "gpu-reconciler"
EVENT_NAMESPACE = "default"
"""Events of objects without a namespace live here, as the kubelet's and the node controller's do."""
EVENT_PATIENCE = 2.0
"""Seconds: the value of a node waits behind the event."""
LONGEST_NOTE = 1024
"""Bytes, the limit of an event's text in events.k8s.io/v1, which core/v1 is stored as."""


def request(method: str, path: str, body: Any, content_type: str = JSON) -> Request:
    """A write. Of its answer nothing is read but the status and the version."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Request(method, path, {"fieldManager": names.FIELD_MANAGER}, data, content_type, BRIEF)


_VERSION = re.compile(rb'"resourceVersion":\s*"([^"]*)"')


def version(body: bytes) -> str:
    """The version of the object that a write left behind, by the server's answer; empty where that does not say.

    Searched for and not decoded: it stands near the front, and the rest may be long. Inside a text its quotes would be
    escaped, so the first that is found is the object's own.
    """
    found = _VERSION.search(body)
    return found[1].decode(errors="replace") if found is not None else ""


def node_path(node: NodeKey) -> str:
    return f"/api/v1/nodes/{node.name}"


def advertise(action: Advertise, now: datetime) -> Request:
    """PATCH nodes/status by strategic merge: one request for resources, labels, annotations and the condition.

    A status write may change metadata too (registry/core/node/strategy.go restores only `spec`). In a strategic merge
    null removes a key, conditions merge by type, and the UID in the body refuses a namesake.
    """
    metadata: dict[str, Any] = {"uid": action.node.uid}
    if action.labels:
        metadata["labels"] = dict(action.labels)
    if action.annotations:
        metadata["annotations"] = dict(action.annotations)
    status: dict[str, Any] = {}
    if action.resources:
        amounts = {name: None if amount is None else quantity.text(amount) for name, amount in action.resources.items()}
        status |= {"capacity": amounts, "allocatable": amounts}
    told = [one for one in (action.condition, action.second_condition) if one is not None]
    conditions = [_condition(one, now) for one in told]
    if action.drop_condition:
        conditions.append({"$patch": "delete", "type": action.drop_condition})
    if conditions:
        status["conditions"] = conditions
    body = {"metadata": metadata, **({"status": status} if status else {})}
    return request("PATCH", f"{node_path(action.node)}/status", body, STRATEGIC_MERGE)


def clear_taint(action: ClearTaint) -> Request:
    return _taints(action.node, action.keep, action.resource_version)


def set_taint(action: SetTaint) -> Request:
    return _taints(action.node, (*action.keep, action.taint), action.resource_version)


def _taints(node: NodeKey, taints: Sequence[Taint], resource_version: str) -> Request:
    """PATCH nodes by merge: the list is replaced whole, so the version in the body refuses a stale one."""
    metadata = {"uid": node.uid, "resourceVersion": resource_version}
    body = {"metadata": metadata, "spec": {"taints": [_taint(taint) for taint in taints] or None}}
    return request("PATCH", node_path(node), body, MERGE)


def restart_plugin(action: RestartPlugin) -> Request:
    """DELETE the pod with its own grace period; the UID refuses a namesake (409 Conflict)."""
    pod = action.pod
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    return request("DELETE", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", body)


def announce(action: Announce, now: datetime) -> Request:
    """POST an Event on a node."""
    about = {"apiVersion": "v1", "kind": "Node", "name": str(action.node.name), "uid": action.node.uid}
    return event(about, action.reason.value, action.message, now, warning=action.warning)


def event(about: Mapping[str, str], reason: str, message: str, now: datetime, *, warning: bool) -> Request:
    """POST an Event whose name says it all: the same words within the same hour are the same Event.

    `about` is an object without a namespace, as `involvedObject` spells it. Core events, not events.k8s.io: both are
    stored alike, and `kubectl describe` finds these by `involvedObject`.
    """
    note = _shortened(message)
    said = f"{about['uid']}/{reason}/{note}/{int(now.timestamp()) // 3600}"
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    at = _time(now)
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name'][:200].rstrip('.-')}.{digest}", "namespace": EVENT_NAMESPACE},
        "involvedObject": dict(about),
        "reason": reason,
        "message": note,
        "type": "Warning" if warning else "Normal",
        "source": {"component": REPORTER},
        "reportingComponent": f"{names.DOMAIN}/{REPORTER}",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
    return replace(request("POST", f"/api/v1/namespaces/{EVENT_NAMESPACE}/events", body), timeout=EVENT_PATIENCE)


def _condition(condition: Condition, now: datetime) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": _time(condition.since),
        "lastHeartbeatTime": _time(now),
    }


def _taint(taint: Taint) -> dict[str, str]:
    fields = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: value for name, value in fields.items() if value is not None}


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _shortened(text: str) -> str:
    data = text.encode()
    return text if len(data) <= LONGEST_NOTE else data[: LONGEST_NOTE - 3].decode(errors="ignore") + "…"
