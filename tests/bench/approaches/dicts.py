"""How do frameworks without models do it? aiohttp and json.loads, every object kept as a plain dict (kopf's way)."""

import asyncio
import json
from typing import Any

import aiohttp

from tests.bench.client import CONCURRENT_PATCHES, TOKEN, Measured, start_changes
from tests.bench.meter import Meter

Json = dict[str, Any]


async def sync(url: str) -> Measured:
    """Lists of nodes and pods by pages of 500."""
    meter = Meter()
    async with _session(url) as session:
        held = await _lists(session)
        return Measured(len(held), meter.read())


async def events(url: str, count: int) -> Measured:
    """A watch over pods after a list, line by line."""
    async with _session(url) as session:
        held = await _lists(session)
        params = {"watch": "true", "resourceVersion": "9000000", "timeoutSeconds": "600"}
        async with session.get("/api/v1/pods", params=params, timeout=aiohttp.ClientTimeout(total=None)) as response:
            meter = Meter()
            start_changes(url, count)
            taken = 0
            async for line in response.content:
                event = json.loads(line)
                held[event["object"]["metadata"]["uid"]] = event["object"]
                taken += 1
                if taken == count:
                    break
            return Measured(count, meter.read())


async def patches(url: str, count: int) -> Measured:
    """The least that the same PATCH can cost on aiohttp: its body made, the status looked at, the answer read."""
    async with _session(url) as session:
        numbers = iter(range(count))
        kind = "application/strategic-merge-patch+json"
        brief = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind, "Accept": brief}
        params = {"fieldManager": "bench"}

        async def patch(number: int) -> None:
            amounts = {"gpu-reconciler.io/gpu-memory": f"{number}Mi"}
            body = json.dumps({"metadata": {"uid": "u"}, "status": {"capacity": amounts, "allocatable": amounts}})
            path = f"/api/v1/nodes/node-{number % 100:05d}/status"
            async with session.patch(path, params=params, data=body.encode(), headers=headers) as response:
                await response.read()
                assert response.status == 200

        async def work() -> None:
            for number in numbers:
                await patch(number)

        await patch(0)
        meter = Meter()
        await asyncio.gather(*(work() for _ in range(CONCURRENT_PATCHES)))
        return Measured(count, meter.read())


def _session(url: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(url, headers={"Accept-Encoding": "identity"}, read_bufsize=1 << 18)


async def _lists(session: aiohttp.ClientSession) -> dict[str, Json]:
    held: dict[str, Json] = {}
    for path in ("/api/v1/nodes", "/api/v1/pods"):
        cont = ""
        while True:
            params = {"limit": "500", **({"continue": cont} if cont else {})}
            async with session.get(path, params=params) as response:
                page = await response.json()
            for item in page["items"]:
                held[item["metadata"]["uid"]] = item
            if not (cont := page["metadata"].get("continue", "")):
                break
    return held
