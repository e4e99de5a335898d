"""What did somebody say or write about an object, as the cluster kept it?"""

from __future__ import annotations

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane


def events(plane: ControlPlane, of: Json, source: str = "karpenter") -> set[tuple[str, str]]:
    """Reason and message of each Event that `source` wrote about that object."""
    return {
        (one["reason"], one["message"])
        for one in plane.api.get("/api/v1/events")["items"]
        if one["source"].get("component") == source and one["involvedObject"].get("uid") == of["metadata"]["uid"]
    }


def writers_of_label(of: Json, label: str) -> set[str]:
    """The managers that own a label, by the object's managed fields."""
    return {
        entry["manager"]
        for entry in of["metadata"]["managedFields"]
        if f"f:{label}" in entry["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
    }
