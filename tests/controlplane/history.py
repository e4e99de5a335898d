"""What did an object look like at every step, in the order in which the cluster wrote all of its objects?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane


def now(plane: ControlPlane) -> int:
    """The version of the cluster: of two writes, whatever they were to, the later one has the larger number."""
    return int(plane.api.get("/api/v1/namespaces", limit=1)["metadata"]["resourceVersion"])


def versions(plane: ControlPlane, path: str, since: int) -> list[Json]:
    """Every version of the object after `since`, the present one last.

    The API server remembers at least 75 s of them (cacher/watch_cache.go, eventFreshDuration); older ones it refuses.
    """
    collection, _, name = path.rpartition("/")
    last = plane.api.get(path)["metadata"]["resourceVersion"]
    found: list[Json] = []
    for event in plane.api.watch(collection, fieldSelector=f"metadata.name={name}", resourceVersion=since):
        assert event["type"] in ("ADDED", "MODIFIED"), event
        found.append(event["object"])
        if found[-1]["metadata"]["resourceVersion"] == last:
            return found
    raise AssertionError(f"{path} did not come to version {last} after {since}")


def since(history: Sequence[Json], question: Callable[[Json], bool]) -> int:
    """The version from which on the answer is true to the end."""
    answers = [question(one) for one in history]
    assert answers[-1], "it is not true at the end"
    start = len(answers) - next((back for back, true in enumerate(reversed(answers)) if not true), len(answers))
    return int(history[start]["metadata"]["resourceVersion"])
