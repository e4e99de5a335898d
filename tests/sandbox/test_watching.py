"""sandbox/watching: what the contract cannot wait for: 410, an hour of bookmarks, kinds that go, slow readers."""

from collections.abc import Mapping

import anyio

from reconciler.runtime.transport import Request
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json, decode
from reconciler.sandbox.kinds import CONFIGMAPS, DEFINITIONS, NODECLAIMS

MAPS = "/api/v1/configmaps"


async def watched(sandbox: Sandbox, path: str, query: Mapping[str, str], events: list[Json]) -> None:
    """Collect the events of a watch until it ends."""
    request = Request("GET", path, {"watch": "true", **query}, timeout=4000)
    async with sandbox.transport("reader").stream(request) as stream:
        whole = b"".join([chunk async for chunk in stream.chunks()])
    events += [decode(line) for line in whole.splitlines()]


def test_a_version_that_the_log_has_forgotten_is_an_error_event() -> None:
    """HTTP 200, one ERROR event with 410, end."""

    async def main() -> list[Json]:
        async with Sandbox() as sandbox:
            events: list[Json] = []
            await watched(sandbox, MAPS, {"resourceVersion": "1"}, events)
            return events

    (event,) = run_virtual(main)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"] == "too old resource version: 1 (1000)"


def test_bookmarks_come_every_minute_and_the_watch_ends_by_itself() -> None:
    async def main() -> tuple[list[Json], float]:
        async with Sandbox() as sandbox:
            events: list[Json] = []
            began = anyio.current_time()
            query = {"resourceVersion": str(sandbox.store.version), "allowWatchBookmarks": "1"}
            await watched(sandbox, MAPS, query, events)
            return events, anyio.current_time() - began

    events, seconds = run_virtual(main)
    assert {event["type"] for event in events} == {"BOOKMARK"}
    assert 29 <= len(events) <= 31
    assert seconds == 1800


def test_a_kind_that_goes_takes_its_objects_and_its_watches_along() -> None:
    async def main() -> list[Json]:
        async with Sandbox() as sandbox:
            await sandbox.install_karpenter()
            await sandbox.admin.create(NODECLAIMS, "", {"metadata": {"name": "c"}})
            events: list[Json] = []
            async with anyio.create_task_group() as group:
                group.start_soon(watched, sandbox, NODECLAIMS.path(), {}, events)
                await anyio.sleep(5)
                await sandbox.admin.delete(DEFINITIONS, "", NODECLAIMS.resource)
            return events

    assert [event["type"] for event in run_virtual(main)] == ["ADDED", "DELETED"]


def test_a_reader_that_falls_behind_the_log_is_cut_off() -> None:
    """As the real server closes the connection of a watcher that is too slow."""

    async def main() -> int:
        async with Sandbox(history=10) as sandbox:
            request = Request("GET", MAPS, {"watch": "true", "resourceVersion": "0"}, timeout=60)
            async with sandbox.transport("reader").stream(request) as stream:
                chunks = stream.chunks()
                await sandbox.put_configmap("default", "m", {})
                lines = (await anext(chunks)).count(b"\n")
                for number in range(40):
                    await sandbox.admin.merge(CONFIGMAPS, "default", "m", {"data": {"n": str(number)}})
                async for chunk in chunks:
                    lines += chunk.count(b"\n")
                return lines

    assert run_virtual(main) == 1
