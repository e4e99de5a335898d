"""How does a test get a Node object that no kubelet looks after?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.waiting import eventually

_SIZE = {"cpu": "4", "memory": "16Gi", "pods": "110"}


@contextlib.contextmanager
def bare_node(
    plane: ControlPlane,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    provider_id: str = "aws:///eu-west-1a/i-0123456789abcdef0",
    resources: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """A Node that is Ready and open for pods, and that nobody heals or undoes; gives its path.

    Pods bound to it stay Pending: there is nobody to run them. The node is deleted at the end.
    """
    path = f"/api/v1/nodes/{name}"
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"providerID": provider_id},
    }
    plane.api.post("/api/v1/nodes", node)
    try:
        sizes = {**_SIZE, **(resources or {})}
        ready = {"type": "Ready", "status": "True", "reason": "BareNode", "message": "nobody runs pods here"}
        plane.api.patch(f"{path}/status", {"status": {"capacity": sizes, "allocatable": sizes, "conditions": [ready]}})
        # Admission taints every new node; the node life-cycle controller takes the taint off once the node is Ready.
        eventually(lambda: not plane.api.get(path)["spec"].get("taints"), f"the taints of {name} are gone")
        yield path
    finally:
        plane.api.delete(path)


def advertise(plane: ControlPlane, node: str, resource: str, amount: str) -> None:
    """Put a resource into a node's capacity, as the product does; a kubelet makes it allocatable within 10 s."""
    plane.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"capacity": {resource: amount}}})
