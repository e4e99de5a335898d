"""What does a contract test ask of a cluster? The same few things of the sandbox and of the real control plane."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PluginScript

Json = dict[str, Any]
T = TypeVar("T")

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

MEMORY = "veriff.com/gpu-memory"
OTHER_UID = "00000000-0000-4000-8000-000000000000"

SYNC = 2
"""Seconds between a kubelet's looks at its node; 10 in real life, which would make these tests long."""
SYNCED = 3.0
"""Seconds after which a kubelet has certainly looked."""

_number = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered. A body that is no JSON object is under `message`."""

    status: int
    body: Json

    @property
    def gist(self) -> tuple[int, object, object]:
        """Status, reason and message: what a client can go by."""
        return self.status, self.body.get("reason"), self.body.get("message")


class Node(Protocol):
    """A node that a kubelet keeps up."""

    @property
    def name(self) -> str: ...

    def restart(self, *, zeroes: bool) -> None:
        """Stop the kubelet and start it again on the same Node."""
        ...


class World(Protocol):
    """A cluster with controllers and a scheduler."""

    @property
    def namespace(self) -> str:
        """A namespace for this test alone."""
        ...

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json", **params: str
    ) -> Answer: ...

    def watch(self, path: str, seconds: int, *, until: str = "", **params: str) -> list[Json]:
        """The events of a watch of so many seconds, or up to the first of type `until`."""
        ...

    def pause(self, seconds: float) -> None: ...

    def kubelet(self, *, zeroes: bool = False, max_pods: int = 110) -> Node:
        """A Ready node with one GPU; containers whose command is `sh -c` sleep and exit as told."""
        ...

    def install(self, chart: PluginChart) -> None:
        """NVIDIA's device plugin, in this test's namespace."""
        ...

    def plugged(self, script: PluginScript, *, gpus: int = 1, labels: Mapping[str, str] | None = None) -> Node:
        """A Ready node whose GPUs are the business of that plugin's pod."""
        ...


def get(world: World, path: str, **params: str) -> Json:
    """GET, and insist that it worked."""
    answer = world.request("GET", path, **params)
    assert answer.status == 200, answer
    return answer.body


def make(world: World, path: str, body: Json) -> Json:
    """POST, and insist that it worked."""
    answer = world.request("POST", path, body)
    assert answer.status == 201, answer
    return answer.body


def patch(world: World, path: str, change: object, content_type: str = STRATEGIC) -> Json:
    """PATCH, and insist that it worked."""
    answer = world.request("PATCH", path, change, content_type)
    assert answer.status == 200, answer
    return answer.body


def items(world: World, path: str, **params: str) -> list[Json]:
    """What a list holds."""
    found: list[Json] = get(world, path, **params)["items"]
    return found


def eventually(world: World, question: Callable[[], T | None], what: str, seconds: float = 30.0) -> T:
    """Ask until the answer is true, and return it."""
    last: object = None
    for _ in range(int(seconds / 0.1)):
        answer = question()
        if answer:
            return answer
        last = answer
        world.pause(0.1)
    raise AssertionError(f"not within {seconds:g} s: {what} (last: {last!r})")


@contextlib.contextmanager
def bare_node(world: World, resources: Mapping[str, str] | None = None, **labels: str) -> Iterator[str]:
    """A Ready node that no kubelet looks after; gives its path."""
    name = f"bare-{next(_number)}"
    path = f"/api/v1/nodes/{name}"
    make(world, "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}})
    try:
        sizes = {"cpu": "4", "memory": "16Gi", "pods": "110", **(resources or {})}
        ready = {"type": "Ready", "status": "True", "reason": "Bare", "message": "nobody runs pods here"}
        status = {"capacity": sizes, "allocatable": sizes, "conditions": [ready]}
        patch(world, f"{path}/status", {"status": status})
        eventually(world, lambda: not get(world, path)["spec"].get("taints"), f"{name} has no taints")
        yield path
    finally:
        world.request("DELETE", path)


def pods_path(world: World, name: str = "", subresource: str = "") -> str:
    """Where the test's pods are, or one of them."""
    path = f"/api/v1/namespaces/{world.namespace}/pods"
    return path + (f"/{name}" if name else "") + (f"/{subresource}" if subresource else "")


def pod(name: str, limits: Mapping[str, str] | None = None, **spec: Any) -> Json:
    """A pod with one container."""
    container = {"name": "main", "image": "example.com/idle:1", "resources": {"limits": dict(limits or {})}}
    return {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


def state(world: World, name: str) -> tuple[str, str | None]:
    """Phase and reason of a pod."""
    status = get(world, pods_path(world, name))["status"]
    return status["phase"], status.get("reason")


def until_state(world: World, name: str, phase: str, reason: str | None = None) -> None:
    """Wait until a pod is there."""
    eventually(world, lambda: state(world, name) == (phase, reason), f"{name} is {phase} {reason or ''}")


def until_gone(world: World, path: str, seconds: float = 30.0) -> None:
    """Wait for a 404."""
    eventually(world, lambda: world.request("GET", path).status == 404, f"{path} is gone", seconds)


def node_of(world: World, name: str) -> str | None:
    """Where a pod was put."""
    node: str | None = get(world, pods_path(world, name))["spec"].get("nodeName")
    return node


def running_pod(world: World, name: str, node: str, *, ready: bool = True, **labels: str) -> Json:
    """A pod on a bare node whose status says that it runs."""
    body = pod(name, nodeName=node)
    body["metadata"]["labels"] |= labels
    make(world, pods_path(world), body)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return patch(world, pods_path(world, name, "status"), {"status": {"phase": "Running", "conditions": [condition]}})
