"""How do programs with a wire reach the server? The same Api over HTTP on a free loopback port, tokens for users."""

import json
from collections.abc import Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Self

from aiohttp import web

from reconciler.runtime.transport import Request, Response, TransportError
from reconciler.sandbox.api import Api, Watch
from reconciler.sandbox.faults import Faults, faulty
from reconciler.sandbox.record import Record
from reconciler.sandbox.refusal import Refusal


class HttpServer:
    """Serves while its context lasts. `tokens` maps bearer tokens to user names.

    Who brings no token is `anonymous`, and refused where that is empty. kubectl never sends a token without TLS, so
    a kubectl can only be `anonymous`. Only real clocks: a virtual loop has no sockets.
    """

    def __init__(
        self,
        api: Api,
        tokens: Mapping[str, str],
        *,
        anonymous: str = "",
        faults: Faults | None = None,
        record: Record | None = None,
    ) -> None:
        self._api = api
        self._anonymous = anonymous
        self._tokens = dict(tokens)
        self._faults = faults if faults is not None else Faults()
        self._record = record if record is not None else Record()
        server = web.Server(self._handle, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def kubeconfig(self, user: str) -> str:
        """A kubeconfig (JSON, which is YAML) for this user. Raises KeyError when the user has no token."""
        tokens = {name: token for token, name in self._tokens.items()}
        identity = {} if user == self._anonymous else {"token": tokens[user]}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "sandbox", "cluster": {"server": self.url}}],
                "users": [{"name": user, "user": identity}],
                "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
                "current-context": "sandbox",
            }
        )

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        token = incoming.headers.get("Authorization", "").removeprefix("Bearer ")
        user = self._tokens.get(token, "") if token else self._anonymous
        if not user:
            return _response(Refusal(401, "Unauthorized", "Unauthorized").response())
        request = Request(
            incoming.method,
            incoming.rel_url.raw_path,
            dict(incoming.rel_url.query),
            await incoming.content.read() if incoming.can_read_body else b"",
            incoming.headers.get("Content-Type", ""),
        )
        try:
            answer = await self._faults.before(request, user) or self._api.handle(request)
            await self._faults.after(request, user)
        except TransportError:
            self._record.add(self._api.store.now(), user, request, 0)
            return _hang_up(incoming)
        status = 200 if isinstance(answer, Watch) else answer.status
        self._record.add(self._api.store.now(), user, request, status)
        if isinstance(answer, Response):
            return _response(answer)
        return await self._stream(incoming, answer, request, user)

    async def _stream(
        self, incoming: web.BaseRequest, answer: Watch, request: Request, user: str
    ) -> web.StreamResponse:
        outgoing = web.StreamResponse(headers={"Content-Type": "application/json"})
        await outgoing.prepare(incoming)
        async with aclosing(faulty(answer.blocks, self._faults, request, user)) as blocks:
            try:
                async for block in blocks:
                    await outgoing.write(block)
            except TransportError:
                _hang_up(incoming)
            except ConnectionResetError:
                pass  # the client has gone
        return outgoing


def _response(answer: Response) -> web.Response:
    kind = "application/json" if answer.body[:1] == b"{" else "text/html" if answer.body[:1] == b"<" else "text/plain"
    headers = {"Content-Type": kind}
    if answer.retry_after is not None:
        headers["Retry-After"] = f"{answer.retry_after:g}"
    return web.Response(status=answer.status, body=answer.body, headers=headers)


def _hang_up(incoming: web.BaseRequest) -> web.Response:
    """Break the connection off without another byte; what is returned never leaves."""
    if incoming.transport is not None:
        incoming.transport.abort()
    return web.Response()
