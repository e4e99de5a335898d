"""How do most Python controllers do it? The generated client's typed models, as its README shows."""

import asyncio
from typing import Any

from kubernetes_asyncio import client, watch

from tests.bench.client import CONCURRENT_PATCHES, TOKEN, Measured, start_changes
from tests.bench.meter import Meter


async def sync(url: str) -> Measured:
    """Lists of nodes and pods by pages of 500, models kept by UID."""
    meter = Meter()
    async with _client(url) as api:
        held = await _lists(client.CoreV1Api(api))
        return Measured(len(held), meter.read())


async def events(url: str, count: int) -> Measured:
    """Watch() over pods after a list, models kept by UID."""
    async with _client(url) as api:
        core = client.CoreV1Api(api)
        held = await _lists(core)
        async with watch.Watch() as watching:
            stream = watching.stream(core.list_pod_for_all_namespaces, resource_version="9000000", timeout_seconds=600)
            first = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.5)  # until the watch is open
            meter = Meter()
            start_changes(url, count)
            _keep(held, await first)
            for _ in range(count - 1):
                _keep(held, await anext(stream))
            return Measured(count, meter.read())


async def patches(url: str, count: int) -> Measured:
    """patch_node_status() with a dict, answered by a model."""
    async with _client(url) as api:
        api.set_default_header("Authorization", f"Bearer {TOKEN}")
        core = client.CoreV1Api(api)
        numbers = iter(range(count))

        async def work() -> None:
            for number in numbers:
                amounts = {"gpu-reconciler.io/gpu-memory": f"{number}Mi"}
                body = {"metadata": {"uid": "u"}, "status": {"capacity": amounts, "allocatable": amounts}}
                await core.patch_node_status(f"node-{number % 100:05d}", body)

        await core.patch_node_status("node-00000", {})
        meter = Meter()
        await asyncio.gather(*(work() for _ in range(CONCURRENT_PATCHES)))
        return Measured(count, meter.read())


def _client(url: str) -> Any:
    return client.ApiClient(client.Configuration(host=url))


async def _lists(core: Any) -> dict[str, Any]:
    held = {}
    for ask in (core.list_node, core.list_pod_for_all_namespaces):
        page: dict[str, Any] = {"limit": 500}
        while True:
            answer = await ask(**page)
            for item in answer.items:
                held[item.metadata.uid] = item
            if not answer.metadata._continue:
                break
            page["_continue"] = answer.metadata._continue
    return held


def _keep(held: dict[str, Any], event: Any) -> None:
    held[event["object"].metadata.uid] = event["object"]
