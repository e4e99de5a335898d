"""What do the pods of these tests look like?"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane


def pod_asking(name: str, resources: Mapping[str, str], *, node: str | None = None) -> Json:
    """A pod with these limits, which are its requests too; `node` binds it past the scheduler."""
    spec = pod_spec(resources)
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def pod_spec(resources: Mapping[str, str]) -> Json:
    """The spec of a pod with one container that does nothing."""
    return {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "example.com/idle:1", "resources": {"limits": dict(resources)}}],
    }


def deployment(name: str, replicas: int, resources: Mapping[str, str]) -> Json:
    """A Deployment of such pods."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(resources)},
        },
    }


def phase_and_reason(plane: ControlPlane, namespace: str, name: str) -> tuple[str, str | None]:
    """status.phase and status.reason of a pod."""
    status = plane.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"]
    return status["phase"], status.get("reason")
