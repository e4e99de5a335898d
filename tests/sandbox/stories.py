"""How is a story of the sandbox told? On virtual time, with a few words for what every story asks."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import NODES, PODS

P = ParamSpec("P")
MEMORY = "veriff.com/gpu-memory"


def virtual(story: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Make an async test a test that runs on virtual time."""

    @functools.wraps(story)
    def test(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtual(lambda: story(*args, **kwargs))

    return test


def pod(name: str, limits: dict[str, str] | None = None, **spec: Any) -> Json:
    container = {"name": "main", "image": "example.com/idle:1", "resources": {"limits": limits or {}}}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [container], **spec}}


def job(name: str, *command: str, restart: str = "Never", **spec: Any) -> Json:
    container = {"name": "main", "image": "example.com/probe:1", "command": list(command)}
    return {
        "metadata": {"name": name},
        "spec": {**spec, "template": {"spec": {"restartPolicy": restart, "containers": [container]}}},
    }


def deployment(
    name: str, replicas: int, limits: dict[str, str] | None = None, image: str = "example.com/idle:1"
) -> Json:
    container = {"name": "main", "image": image, "resources": {"limits": limits or {}}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def pods(sandbox: Sandbox, **labels: str) -> list[Json]:
    """The pods with these labels."""
    return [
        each
        for each in sandbox.store.all(PODS)
        if all((each["metadata"].get("labels") or {}).get(key) == value for key, value in labels.items())
    ]


def phase(sandbox: Sandbox, name: str) -> tuple[str, str | None]:
    found = sandbox.store.get(PODS, f"default/{name}")
    assert found is not None, f"no pod {name}"
    return found["status"]["phase"], found["status"].get("reason")


def node(sandbox: Sandbox, name: str) -> Json:
    found = sandbox.store.get(NODES, name)
    assert found is not None, f"no node {name}"
    return found


async def advertise(sandbox: Sandbox, name: str, amount: str | None) -> None:
    both = {"capacity": {MEMORY: amount}, "allocatable": {MEMORY: amount}}
    await sandbox.admin.merge(NODES, "", name, {"status": both}, subresource="status")
