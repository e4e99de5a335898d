"""kube/http: requests over a real socket, and every way in which a server can fail, in words."""

import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from aiohttp import web

from reconciler.kube.credentials import FRESH, Fixed, TokenFile
from reconciler.kube.http import Endpoint, HttpTransport, UnusableConfig, opened
from reconciler.kube.lines import Lines
from reconciler.runtime.transport import Request, Transport, TransportError

pytestmark = pytest.mark.anyio

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Answers with a function, and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.bodies.append(await request.read())
        return await self.answer(request)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", server.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"http://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def fine(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b'{"ok":true}')


@asynccontextmanager
async def talking(answer: Answer = fine) -> AsyncIterator[tuple[HttpTransport, Server]]:
    async with serving(answer) as server, opened(Endpoint(server.url + "/base/"), Fixed("Bearer t")) as transport:
        yield transport, server


async def test_a_request_arrives_as_it_was_meant() -> None:
    """Path escaped once, query as plain text, body and headers as given, identity encoding, our name."""
    async with talking() as (transport, server):
        asked = Request(
            "PATCH",
            "/api/v1/nodes/a%2Fb/status",
            {"fieldSelector": "spec.nodeName!=,status.phase!=Failed", "limit": "500"},
            b'{"x":1}',
            "application/merge-patch+json",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        )
        answer = await transport.send(asked)
        seen = server.seen[0]

        assert (answer.status, answer.body) == (200, b'{"ok":true}')
        assert seen.raw_path.startswith("/base/api/v1/nodes/a%2Fb/status?")
        assert dict(seen.query) == dict(asked.query)
        assert server.bodies == [b'{"x":1}']
        assert seen.headers["Content-Type"] == "application/merge-patch+json"
        assert seen.headers["Accept"].endswith("v=v1")
        assert seen.headers["Accept-Encoding"] == "identity"
        assert seen.headers["Authorization"] == "Bearer t"
        assert seen.headers["User-Agent"].startswith("gpu-reconciler/")


async def test_a_refusal_is_an_answer_with_its_retry_after() -> None:
    async def busy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=429, body=b"slow down", headers={"Retry-After": "7"})

    async with talking(busy) as (transport, _):
        answer = await transport.send(Request("GET", "/x"))

        assert (answer.status, answer.body, answer.retry_after) == (429, b"slow down", 7.0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None), ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0)],
)
async def test_retry_after_is_read_in_all_its_forms(header: str, seconds: float | None) -> None:
    """A date counts from the server's own clock, since ours may be wrong."""

    async def busy(request: web.Request) -> web.StreamResponse:
        headers = {"Retry-After": header, "Date": "Sun, 01 Mar 2026 12:00:00 GMT"}
        return web.Response(status=503, headers=headers)

    async with talking(busy) as (transport, _):
        assert (await transport.send(Request("GET", "/x"))).retry_after == seconds


async def test_a_redirect_is_not_followed() -> None:
    """The token must not go to another host."""

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("http://127.0.0.1:1/elsewhere")

    async with talking(elsewhere) as (transport, server):
        assert (await transport.send(Request("GET", "/x"))).status == 302
        assert len(server.seen) == 1


async def test_neither_proxies_nor_netrc_are_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They would cost two threads and a file for each request, and could send it elsewhere."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login eve password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with talking() as (transport, server):
        threads = threading.active_count()
        for _ in range(5):
            assert (await transport.send(Request("GET", "/x"))).status == 200

        assert threading.active_count() == threads
        assert server.seen[0].headers["Authorization"] == "Bearer t"


async def test_one_connection_serves_many_requests() -> None:
    async with talking() as (transport, server):
        for _ in range(5):
            await transport.send(Request("GET", "/x"))
        peers = {request.transport.get_extra_info("peername") for request in server.seen if request.transport}

        assert len(peers) == 1


async def test_a_stream_is_read_as_it_comes() -> None:
    arrived = anyio.Event()

    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED"}\n')
        await arrived.wait()
        await response.write(b'{"type":"DELETED"}\n')
        return response

    async with talking(watch) as (transport, _), transport.stream(Request("GET", "/x", timeout=5)) as stream:
        lines, got = Lines(), []
        async for chunk in stream.chunks():
            got += lines.feed(chunk)
            arrived.set()

    assert got == [b'{"type":"ADDED"}', b'{"type":"DELETED"}']


async def test_lines_of_many_megabytes_pass() -> None:
    """kubernetes_asyncio ends at 4 MiB."""
    long = b"x" * (9 * 1024 * 1024)

    async def watch(request: web.Request) -> web.StreamResponse:
        return web.Response(body=long + b"\nshort\n")

    async with talking(watch) as (transport, _), transport.stream(Request("GET", "/x", timeout=30)) as stream:
        lines = Lines()
        got = [line async for chunk in stream.chunks() for line in lines.feed(chunk)]

    assert [len(line) for line in got] == [len(long), 5]


async def drain(transport: Transport, patience: float, into: list[bytes]) -> None:
    async with transport.stream(Request("GET", "/x", timeout=patience)) as stream:
        async for chunk in stream.chunks():
            into.append(chunk)  # noqa: PERF401 - what came before a failure is wanted too


async def test_a_stream_that_falls_silent_is_a_failure() -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"begun\n")
        await anyio.sleep(60)
        return response

    async with talking(stall) as (transport, server):
        with pytest.raises(TransportError, match=r"was silent for 0.2 s") as caught:
            await drain(transport, 0.2, [])
        assert server.url in str(caught.value)


async def test_a_stream_that_breaks_off_in_a_line_is_a_failure() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"AD')
        assert request.transport is not None
        request.transport.abort()
        return response

    got: list[bytes] = []
    async with talking(cut) as (transport, _):
        with pytest.raises(TransportError, match="broke off"):
            await drain(transport, 5, got)

    assert b"".join(got) == b'{"type":"AD'


async def test_an_answer_that_does_not_come_is_a_failure() -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await anyio.sleep(60)
        return web.Response()

    async with talking(never) as (transport, _):
        with pytest.raises(TransportError, match=r"was silent for 0.2 s"):
            await transport.send(Request("GET", "/x", timeout=0.2))


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with opened(Endpoint(url), Fixed()) as transport:
            with pytest.raises(TransportError, match="cannot connect to http"):
                await transport.send(Request("GET", "/x", timeout=5))
            with pytest.raises(TransportError, match="cannot connect to http"):
                async with transport.stream(Request("GET", "/x", timeout=5)):
                    pass


async def test_a_watch_that_is_cancelled_lets_its_connection_go() -> None:
    """Else the server would go on streaming into it, and the pool would lose a place."""
    ended = anyio.Event()

    async def watch(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x\n")
                await anyio.sleep(0.01)
        except ConnectionError:
            ended.set()
        return response

    async with talking(watch) as (transport, _):
        with anyio.move_on_after(0.2):
            await drain(transport, 5, [])
        with anyio.fail_after(5):
            await ended.wait()


class Guard:
    """Lets in whoever has the token of the moment."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.headers: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(request.headers.get("Authorization", ""))
        return web.Response(status=200 if self.headers[-1] == f"Bearer {self.token}" else 401)


async def test_a_token_that_was_rotated_early_is_read_anew_after_a_401(tmp_path: Path) -> None:
    """The file's newline is none of the server's business."""
    file, guard = tmp_path / "token", Guard("new")
    file.write_text("old\n")
    async with serving(guard) as server, opened(Endpoint(server.url), TokenFile(file, lambda: 0.0)) as transport:
        guard.token = "old"
        assert (await transport.send(Request("GET", "/x"))).status == 200
        file.write_text("new\n")
        guard.token = "new"
        assert (await transport.send(Request("GET", "/x"))).status == 200
        async with transport.stream(Request("GET", "/x")) as stream:
            assert stream.status == 200

    assert guard.headers == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


async def test_a_refused_token_that_is_the_newest_is_not_tried_again(tmp_path: Path) -> None:
    file, guard = tmp_path / "token", Guard("other")
    file.write_text("mine")
    async with serving(guard) as server, opened(Endpoint(server.url), TokenFile(file, lambda: 0.0)) as transport:
        assert (await transport.send(Request("GET", "/x"))).status == 401

    assert guard.headers == ["Bearer mine"]


async def test_a_token_file_is_read_again_after_a_minute_and_may_be_missing_meanwhile(tmp_path: Path) -> None:
    file, now = tmp_path / "token", [0.0]
    file.write_text("one")
    credentials = TokenFile(file, lambda: now[0])
    assert await credentials.authorization() == "Bearer one"

    file.write_text("two")
    now[0] += FRESH / 2
    assert await credentials.authorization() == "Bearer one"
    now[0] += FRESH / 2
    assert await credentials.authorization() == "Bearer two"

    file.unlink()
    now[0] += FRESH
    assert await credentials.authorization() == "Bearer two"
    file.write_text("")
    now[0] += FRESH
    assert await credentials.authorization() == "Bearer two"


@pytest.mark.parametrize(("content", "says"), [(None, "cannot be read"), (" \n", "is empty")])
async def test_without_any_token_the_failure_names_the_file(tmp_path: Path, content: str | None, says: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    async with opened(Endpoint("http://127.0.0.1:1"), TokenFile(file, lambda: 0.0)) as transport:
        with pytest.raises(TransportError, match=says) as caught:
            await transport.send(Request("GET", "/x"))
        assert str(file) in str(caught.value)


async def test_certificates_that_are_none_are_told_at_the_start(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text("no certificate")
    with pytest.raises(UnusableConfig, match="certificates for https"):
        async with opened(Endpoint("https://127.0.0.1:1", ca_file=str(ca)), Fixed()):
            pass


def test_it_is_a_transport() -> None:
    """Proved by mypy: the seam fits."""

    def fits(transport: HttpTransport) -> Transport:
        return transport

    assert callable(fits)
