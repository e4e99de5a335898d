"""What do Karpenter's own objects look like in these tests, and what do they say of themselves?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.controlplane.api import Json

POOLS = "/apis/karpenter.sh/v1/nodepools"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
OVERLAYS = "/apis/karpenter.sh/v1alpha1/nodeoverlays"

NODEPOOL = "karpenter.sh/nodepool"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
REGISTERED = "karpenter.sh/registered"
INITIALIZED = "karpenter.sh/initialized"
UNREGISTERED_TAINT = "karpenter.sh/unregistered:NoExecute"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"

Requirement = tuple[str, str, Sequence[str]]
"""Key, operator and values, as in ("karpenter.sh/capacity-type", "In", ["spot"])."""


def node_pool(
    name: str,
    node_class: Mapping[str, str],
    *,
    requirements: Sequence[Requirement] = (),
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    startup_taints: Sequence[Json] = (),
    consolidate_after: str = "Never",
    weight: int | None = None,
) -> Json:
    """A NodePool; `labels` is spec.template.metadata.labels. Nothing expires, and nothing is held back by a budget."""
    template: Json = {
        "nodeClassRef": dict(node_class),
        "expireAfter": "Never",
        "requirements": [_requirement(one) for one in requirements],
        "taints": list(taints),
        "startupTaints": list(startup_taints),
    }
    spec: Json = {
        "template": {"metadata": {"labels": dict(labels or {})}, "spec": template},
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": consolidate_after,
            "budgets": [{"nodes": "100%"}],
        },
    }
    if weight is not None:
        spec["weight"] = weight
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def node_overlay(
    name: str, capacity: Mapping[str, str], requirements: Sequence[Requirement] = (), weight: int | None = None
) -> Json:
    """A NodeOverlay that adds extended resources to what matches all `requirements`."""
    spec: Json = {"requirements": [_requirement(one) for one in requirements], "capacity": dict(capacity)}
    if weight is not None:
        spec["weight"] = weight
    return {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": name}, "spec": spec}


def condition(found: Json, kind: str) -> tuple[str, str, str] | None:
    """Status, reason and message of one condition of an object."""
    for one in found.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return None


def conditions(found: Json) -> dict[str, tuple[str, str, str]]:
    """Every condition of an object, by its type."""
    return {
        one["type"]: (one["status"], one["reason"], one["message"])
        for one in found.get("status", {}).get("conditions", [])
    }


def _requirement(requirement: Requirement) -> Json:
    key, operator, values = requirement
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
