"""sandbox: does it hold many objects, and give them out at a pace that never makes it the limit?"""

import time

from reconciler.runtime.transport import Request
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import decode
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.selectors import Slim
from tests.bench import nodes, pods

NODE_COUNT, POD_COUNT = 500, 15_000


async def loaded(sandbox: Sandbox) -> None:
    def keyed(data: bytes) -> tuple[str, bytes]:
        meta = decode(data, type=Slim).metadata
        return (f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name), data

    sandbox.store.load(NODES, map(keyed, nodes.nodes(NODE_COUNT)), version=2_000_000)
    sandbox.store.load(PODS, map(keyed, pods.pods(POD_COUNT, NODE_COUNT)), version=2_000_000)


def test_a_tenth_of_the_largest_cluster_is_listed_in_pages_and_by_watch_list() -> None:
    """Every pod once each way; 40 microseconds of CPU a pod would still be 25,000 a second."""

    async def main() -> tuple[int, int, float]:
        async with Sandbox(controllers=False) as sandbox:
            await loaded(sandbox)
            transport = sandbox.transport("ours")
            began = time.process_time()
            listed, token = 0, ""
            while True:
                query = {"limit": "500"} | ({"continue": token} if token else {})
                page = await transport.send(Request("GET", "/api/v1/pods", query))
                listed += page.body.count(b'"metadata":{"name":"')
                head = page.body[:300]
                if b'"continue":"' not in head:
                    break
                token = head.partition(b'"continue":"')[2].partition(b'"')[0].decode()
            streamed = 0
            query = {
                "watch": "true",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
            }
            async with transport.stream(Request("GET", "/api/v1/pods", query)) as stream:
                async for chunk in stream.chunks():
                    streamed += chunk.count(b'"type":"ADDED"')
                    if b"initial-events-end" in chunk:
                        break
            return listed, streamed, (time.process_time() - began) / (2 * POD_COUNT)

    listed, streamed, seconds = run_virtual(main)
    assert (listed, streamed) == (POD_COUNT, POD_COUNT)
    assert seconds < 40e-6


def test_a_loaded_cluster_is_alive() -> None:
    """Selectors find, patches land, watches tell."""

    async def main() -> None:
        async with Sandbox(controllers=False) as sandbox:
            await loaded(sandbox)
            transport = sandbox.transport("ours")
            query = {"fieldSelector": "spec.nodeName=node-00007,status.phase!=Succeeded"}
            answer = await transport.send(Request("GET", "/api/v1/pods", query))
            found = decode(answer.body)["items"]
            assert len(found) == POD_COUNT // NODE_COUNT
            watch = {"watch": "true", "resourceVersion": "2000000", "timeoutSeconds": "5"}
            async with transport.stream(Request("GET", "/api/v1/nodes", watch)) as stream:
                change = b'{"status":{"capacity":{"veriff.com/gpu-memory":"15360Mi"}}}'
                patch = Request(
                    "PATCH",
                    "/api/v1/nodes/node-00007/status",
                    body=change,
                    content_type="application/merge-patch+json",
                )
                assert (await transport.send(patch)).status == 200
                event = decode(await anext(stream.chunks()))
            assert event["type"] == "MODIFIED"
            assert event["object"]["status"]["capacity"]["veriff.com/gpu-memory"] == "15Gi"
            assert len(event["object"]["status"]["images"]) == 14, "what nobody touched is still there"

    run_virtual(main)
