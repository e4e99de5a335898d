"""sandbox/http: the same server over a wire."""

import json
from collections.abc import AsyncIterator

import aiohttp
import anyio
import pytest

from reconciler.sandbox.cluster import Sandbox, eventually
from reconciler.sandbox.encoding import decode
from reconciler.sandbox.faults import Cut, Drop, Lost, Unreachable
from reconciler.sandbox.http import HttpServer
from reconciler.sandbox.kinds import CONFIGMAPS
from reconciler.sandbox.mishaps import BUDGET_BUSY, ERROR_500_HTML, THROTTLED

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


class Wire:
    """A sandbox, its HTTP server, and a client with a token."""

    def __init__(self, sandbox: Sandbox, server: HttpServer, session: aiohttp.ClientSession) -> None:
        self.sandbox = sandbox
        self.server = server
        self.session = session


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with (
        Sandbox() as sandbox,
        HttpServer(sandbox.api, {"secret": "ours"}, faults=sandbox.faults, record=sandbox.record) as server,
        aiohttp.ClientSession(server.url, headers={"Authorization": "Bearer secret"}) as session,
    ):
        yield Wire(sandbox, server, session)


async def test_requests_of_all_kinds_pass_with_their_status_and_are_on_record(wire: Wire) -> None:
    async with wire.session.post(MAPS, json={"metadata": {"name": "a"}, "data": {"k": "v"}}) as made:
        assert made.status == 201
    patch = {"Content-Type": "application/merge-patch+json"}
    async with wire.session.patch(f"{MAPS}/a", data=b'{"data":{"k":"w"}}', headers=patch) as patched:
        assert (await patched.json())["data"] == {"k": "w"}
    async with wire.session.get(MAPS, params={"labelSelector": "a in (b, c)", "limit": "5"}) as listed:
        assert listed.headers["Content-Type"].startswith("application/json")
        assert (await listed.json())["items"] == []
    async with wire.session.delete(f"{MAPS}/a") as deleted:
        assert deleted.status == 200
    async with wire.session.get(f"{MAPS}/a") as missing:
        assert (missing.status, (await missing.json())["reason"]) == (404, "NotFound")
    assert [call.method for call in wire.sandbox.record.of("ours")] == ["POST", "PATCH", "GET", "DELETE", "GET"]


async def test_only_known_tokens_may_ask_and_nobody_without_one(wire: Wire) -> None:
    for headers in ({"Authorization": "Bearer wrong"}, {"Authorization": ""}):
        async with wire.session.get(MAPS, headers=headers) as refused:
            assert refused.status == 401


async def test_an_anonymous_user_may_be_named(wire: Wire) -> None:
    """kubectl sends no token without TLS."""
    async with HttpServer(wire.sandbox.api, {}, anonymous="admin") as open_server, aiohttp.ClientSession() as session:
        async with session.get(open_server.url + MAPS) as answer:
            assert answer.status == 200
        config = json.loads(open_server.kubeconfig("admin"))
        assert config["clusters"][0]["cluster"]["server"] == open_server.url
        assert config["users"][0]["user"] == {}
    assert json.loads(wire.server.kubeconfig("ours"))["users"][0]["user"] == {"token": "secret"}


@pytest.mark.parametrize(
    ("answer", "status", "retry_after", "kind"),
    [
        (THROTTLED, 429, "1", "text/plain"),
        (BUDGET_BUSY, 429, "10", "application/json"),
        (ERROR_500_HTML, 500, None, "text/html"),
    ],
    ids=["throttled", "budget-busy", "html"],
)
async def test_forced_answers_have_their_headers(
    wire: Wire, answer: object, status: int, retry_after: str | None, kind: str
) -> None:
    wire.sandbox.faults.add(answer)  # type: ignore[arg-type]  # parametrize loses the type
    async with wire.session.get(MAPS) as response:
        assert (response.status, response.headers.get("Retry-After")) == (status, retry_after)
        assert response.headers["Content-Type"].startswith(kind)


async def test_a_watch_flows_and_ends_with_its_time(wire: Wire) -> None:
    query = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": "1"}
    async with wire.session.get(MAPS, params=query) as stream:
        await wire.sandbox.put_configmap("default", "a", {})
        events = [decode(line)["type"] async for line in stream.content]
    assert events == ["ADDED"]


@pytest.mark.parametrize("fault", [Unreachable(), Lost()])
async def test_a_connection_may_break_before_the_answer(wire: Wire, fault: Unreachable | Lost) -> None:
    wire.sandbox.faults.add(fault, user="ours", times=1)
    with pytest.raises(aiohttp.ClientError):
        await wire.session.post(MAPS, json={"metadata": {"name": "a"}})
    assert (await wire.sandbox.admin.get(CONFIGMAPS, "default", "a") is None) is isinstance(fault, Unreachable)


@pytest.mark.parametrize(("fault", "polite"), [(Drop(), True), (Cut(), False)])
async def test_an_open_watch_may_end_politely_or_not(wire: Wire, fault: Drop | Cut, polite: bool) -> None:
    async with wire.session.get(MAPS, params={"watch": "true", "resourceVersion": "0"}) as stream:
        wire.sandbox.faults.add(fault, user="ours", watch=True)
        if polite:
            assert await stream.read() == b""
        else:
            with pytest.raises(aiohttp.ClientPayloadError):
                await stream.read()


async def test_a_client_that_leaves_is_forgotten(wire: Wire) -> None:
    """Its watch does not linger until the next event."""
    before = wire.sandbox.store.shelf(CONFIGMAPS).watchers
    async with wire.session.get(MAPS, params={"watch": "true", "resourceVersion": "0"}):
        await anyio.sleep(0.1)
        assert wire.sandbox.store.shelf(CONFIGMAPS).watchers == before + 1
    await eventually(lambda: wire.sandbox.store.shelf(CONFIGMAPS).watchers == before, "the watch is gone", 5)


async def test_clients_find_their_way(wire: Wire) -> None:
    """Discovery, enough for kubectl: a kind that comes with a CRD is listed too."""
    await wire.sandbox.install_karpenter()
    for path, text in (
        ("/version", '"major":"1"'),
        ("/readyz", "ok"),
        ("/api", '"v1"'),
        ("/apis", "karpenter.sh"),
        ("/apis/batch", "batch/v1"),
        ("/api/v1", "pods/eviction"),
        ("/apis/karpenter.sh/v1", "nodeclaims/status"),
    ):
        async with wire.session.get(path) as answer:
            assert answer.status == 200, path
            assert text in await answer.text()
    async with wire.session.get("/apis/nobody.example/v1") as missing:
        assert missing.status == 404
