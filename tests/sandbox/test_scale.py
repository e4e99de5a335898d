"""sandbox: does it hold the largest cluster, and give it out at a pace that never makes it the limit?

All of it at once and in one go, since only the whole size says that the whole size is held.
"""

import time

import pytest

from reconciler.runtime.transport import Request, Transport
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import decode
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.selectors import Slim
from tests.bench import nodes, pods
from tests.bench.scale import FULL

VERSION = 2_000_000
A_POD = 40e-6
"""Seconds of processor time at most, which would still be 25,000 pods a second."""


@pytest.mark.timeout(600)  # a quarter of a minute of processor time, which a busy machine may stretch
def test_five_thousand_nodes_and_their_pods_are_listed_streamed_found_patched_and_watched() -> None:
    async def main() -> None:
        async with Sandbox(controllers=False) as sandbox:
            loaded(sandbox)
            transport = sandbox.transport("ours")
            began = time.process_time()
            assert await listed_in_pages(transport) == FULL.pods
            assert await streamed(transport) == FULL.pods
            assert (time.process_time() - began) / (2 * FULL.pods) < A_POD
            await selectors_find(transport)
            await patches_land_and_watches_tell(transport)

    run_virtual(main)


def loaded(sandbox: Sandbox) -> None:
    def keyed(data: bytes) -> tuple[str, bytes]:
        meta = decode(data, type=Slim).metadata
        return (f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name), data

    sandbox.store.load(NODES, map(keyed, nodes.nodes(FULL.nodes)), version=VERSION)
    sandbox.store.load(PODS, map(keyed, pods.pods(FULL.pods, FULL.nodes)), version=VERSION)


async def listed_in_pages(transport: Transport) -> int:
    listed, token = 0, ""
    while True:
        query = {"limit": "500"} | ({"continue": token} if token else {})
        page = await transport.send(Request("GET", "/api/v1/pods", query))
        listed += page.body.count(b'"metadata":{"name":"')
        head = page.body[:300]
        if b'"continue":"' not in head:
            return listed
        token = head.partition(b'"continue":"')[2].partition(b'"')[0].decode()


async def streamed(transport: Transport) -> int:
    query = {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    told = 0
    async with transport.stream(Request("GET", "/api/v1/pods", query)) as stream:
        async for chunk in stream.chunks():
            told += chunk.count(b'"type":"ADDED"')
            if b"initial-events-end" in chunk:
                break
    return told


async def selectors_find(transport: Transport) -> None:
    query = {"fieldSelector": "spec.nodeName=node-00007,status.phase!=Succeeded"}
    answer = await transport.send(Request("GET", "/api/v1/pods", query))
    assert len(decode(answer.body)["items"]) == FULL.pods // FULL.nodes


async def patches_land_and_watches_tell(transport: Transport) -> None:
    watch = {"watch": "true", "resourceVersion": str(VERSION), "timeoutSeconds": "5"}
    async with transport.stream(Request("GET", "/api/v1/nodes", watch)) as stream:
        change = b'{"status":{"capacity":{"veriff.com/gpu-memory":"15360Mi"}}}'
        path = "/api/v1/nodes/node-00007/status"
        patch = Request("PATCH", path, body=change, content_type="application/merge-patch+json")
        assert (await transport.send(patch)).status == 200
        event = decode(await anext(stream.chunks()))
    assert event["type"] == "MODIFIED"
    assert event["object"]["status"]["capacity"]["veriff.com/gpu-memory"] == "15Gi"
    assert len(event["object"]["status"]["images"]) == 14, "what nobody touched is still there"
