"""How does a pod get onto a node? The binding subresource, which only a scheduler uses."""

from reconciler.sandbox.deleting import DeleteOptions, hold_preconditions
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.refusal import bad_request, conflict, not_found
from reconciler.sandbox.routes import Route
from reconciler.sandbox.store import Store


def bind(store: Store, route: Route, binding: Json) -> None:
    """Put a pod on a node. Raises Refusal: 400, 404, 409."""
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
    conditions = [each for each in pod["status"].get("conditions", []) if each["type"] != "PodScheduled"]
    conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(store.now())})
    pod["status"]["conditions"] = conditions
    store.put(PODS, route.key, pod)
