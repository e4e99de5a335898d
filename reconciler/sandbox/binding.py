"""How does a pod get onto a node? The binding subresource, which only a scheduler uses."""

from reconciler.sandbox.deleting import DeleteOptions, hold_preconditions
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.refusal import bad_request, conflict, not_found
from reconciler.sandbox.routes import Route
from reconciler.sandbox.store import Store

_TOPOLOGY = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
"""Labels of the node that admission copies to the pod as it is bound (PodTopologyLabels, on since 1.35)."""


def bind(store: Store, route: Route, binding: Json) -> None:
    """Put a pod on a node. Raises Refusal: 400, 404, 409."""
    if (binding.get("metadata") or {}).get("name") != route.name:
        raise bad_request("name in URL does not match name in Binding object")
    pod = store.get(PODS, route.key)
    if pod is None:
        raise not_found(PODS, route.name)
    node = (binding.get("target") or {}).get("name")
    if not node:
        raise bad_request("target.name: Required value")
    if uid := (binding.get("metadata") or {}).get("uid"):
        hold_preconditions(PODS, pod["metadata"], DeleteOptions(uid=uid))
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict(PODS, route.name, f"pod {route.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise conflict(PODS, route.name, f'pod {route.name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    pod["spec"]["nodeName"] = node
    labels = (store.get(NODES, node) or {"metadata": {}})["metadata"].get("labels") or {}
    topology = {key: labels[key] for key in _TOPOLOGY if key in labels}
    if topology:
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **topology}
    conditions = [each for each in pod["status"].get("conditions", []) if each["type"] != "PodScheduled"]
    conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(store.now())})
    pod["status"]["conditions"] = conditions
    store.put(PODS, route.key, pod)
