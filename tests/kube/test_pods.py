"""kube/pods: what a pod holds is what the scheduler counts."""

import json
from typing import Any

import msgspec
import pytest

from reconciler.kube.pods import PodParser
from reconciler.kube.wire import PodWire
from reconciler.model.workload import PodView


def pod(spec: dict[str, Any], phase: str = "Running") -> tuple[PodView | None, list[str]]:
    odd: list[str] = []
    document = {
        "metadata": {"name": "p", "namespace": "dev", "uid": "u", "creationTimestamp": "2026-03-01T10:00:00Z"},
        "spec": {"nodeName": "n1", **spec},
        "status": {"phase": phase},
    }
    return PodParser()(msgspec.json.decode(json.dumps(document), type=PodWire), odd.append), odd


def box(**requests: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def sidecar(**requests: Any) -> dict[str, Any]:
    return {**box(**requests), "restartPolicy": "Always"}


SUMS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    ("nothing", {"containers": None}, {}),
    ("no requests", {"containers": [{"name": "c"}, {"name": "d", "resources": None}]}, {}),
    ("sum of containers", {"containers": [box(cpu="100m", x=1), box(cpu="0.5", x=2)]}, {"cpu": 600, "x": 3}),
    ("a large init", {"containers": [box(x=3)], "initContainers": [box(x=5), box(x=4)]}, {"x": 5}),
    ("a small init", {"containers": [box(x=3)], "initContainers": [box(x=1, y=2)]}, {"x": 3, "y": 2}),
    ("a sidecar adds up", {"containers": [box(x=3)], "initContainers": [sidecar(x=2)]}, {"x": 5}),
    (
        "init beside an earlier sidecar",
        {"containers": [box(x=1)], "initContainers": [sidecar(x=2), box(x=4)]},
        {"x": 6},
    ),
    ("init before a sidecar", {"containers": [box(x=1)], "initContainers": [box(x=4), sidecar(x=2)]}, {"x": 4}),
    ("overhead", {"containers": [box(cpu="1")], "overhead": {"cpu": "250m", "x": "1"}}, {"cpu": 1250, "x": 1}),
    (
        "pod level stands in",
        {"containers": [box(cpu="1", x=1)], "resources": {"requests": {"cpu": "3"}}},
        {"cpu": 3000, "x": 1},
    ),
    ("limits count as requests", {"containers": [{"name": "c", "resources": {"limits": {"x": "2"}}}]}, {"x": 2}),
    (
        "104Mi",
        {"containers": [{"name": "c", "resources": {"limits": {"m": "104Mi"}, "requests": {"m": "104Mi"}}}]},
        {"m": 109051904},
    ),
]


@pytest.mark.parametrize(("spec", "requests"), [case[1:] for case in SUMS], ids=[case[0] for case in SUMS])
def test_a_pod_holds_what_the_scheduler_counts(spec: dict[str, Any], requests: dict[str, int]) -> None:
    view, odd = pod(spec)

    assert odd == []
    assert view is not None
    assert view.requests == requests


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_ended_pod_holds_nothing(phase: str) -> None:
    assert pod({"containers": [box(x=1)]}, phase)[0] is None


def test_a_pod_without_a_node_holds_nothing() -> None:
    assert pod({"nodeName": None})[0] is None
    assert pod({"nodeName": ""})[0] is None


@pytest.mark.parametrize(
    ("resources", "requests", "says"),
    [
        ({"requests": {"x": "many", "y": "2"}}, {"y": 2}, "resources.requests.x: 'many' is not a quantity"),
        ({"requests": ["x"]}, {}, "counts as nothing"),
        ("all", {}, "counts as nothing"),
    ],
)
def test_an_unreadable_request_is_told_and_the_rest_counts(resources: Any, requests: dict[str, int], says: str) -> None:
    view, odd = pod({"containers": [{"name": "c", "resources": resources}]})

    assert view is not None
    assert view.requests == requests
    assert len(odd) == 1
    assert says in odd[0]


def test_pods_of_one_template_share_their_requests() -> None:
    parser = PodParser()
    document = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [box(x=1)]}}
    data = json.dumps(document).encode()
    views = [parser(msgspec.json.decode(data, type=PodWire), lambda why: None) for _ in range(2)]

    assert views[0] is not None
    assert views[1] is not None
    assert views[0].requests is views[1].requests
