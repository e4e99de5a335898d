"""Who controls which object? Owner references read, and written on pods made from a template."""

import copy
from collections.abc import Iterable

from reconciler.sandbox.encoding import Json


def controller_of(obj: Json) -> Json | None:
    """The owner reference of the controller, if there is one."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((each for each in references if each.get("controller")), None)


def controlled(objects: Iterable[Json]) -> dict[str, list[Json]]:
    """Objects by the uid of their controller, in a steady order."""
    owned: dict[str, list[Json]] = {}
    for obj in sorted(objects, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["metadata"]["name"])):
        if (owner := controller_of(obj)) is not None:
            owned.setdefault(owner["uid"], []).append(obj)
    return owned


def reference(owner: Json) -> Json:
    """The controller reference to an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(owner: Json, template: Json) -> Json:
    """A new pod, named after its owner and controlled by it."""
    meta = copy.deepcopy(template.get("metadata") or {})
    meta["generateName"] = f"{owner['metadata']['name']}-"
    meta["ownerReferences"] = [reference(owner)]
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": copy.deepcopy(template["spec"])}
