"""How do the sandbox's controllers and kubelets ask the server? Decoded objects, over any Transport."""

from collections.abc import AsyncGenerator

from reconciler.runtime.transport import Request, Response, Transport
from reconciler.sandbox.encoding import DecodeError, Json, decode, encode
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE


class Rejected(Exception):
    """The server refused. `status` is HTTP's, `reason` the Status object's (empty when the body is none)."""

    def __init__(self, request: Request, response: Response) -> None:
        try:
            body = decode(response.body)
        except DecodeError:
            body = {}
        told = body if isinstance(body, dict) else {}
        self.status = response.status
        self.reason = str(told.get("reason", ""))
        text = told.get("message") or response.body[:200].decode(errors="replace")
        super().__init__(f"{request.method} {request.path}: {response.status} {text}")


class Client:
    """One identity's requests. `manager` is the name under which it writes fields; without one the server chooses."""

    def __init__(self, transport: Transport, manager: str = "") -> None:
        self._transport = transport
        self._named = {"fieldManager": manager} if manager else {}

    async def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """The object, or None when it is not there. Raises Rejected, TransportError."""
        try:
            return await self._ask(Request("GET", kind.path(namespace, name)))
        except Rejected as no:
            if no.status == 404:
                return None
            raise

    async def create(self, kind: Kind, namespace: str, obj: Json, *, name: str = "", subresource: str = "") -> Json:
        """POST an object, or to a subresource of one. Raises Rejected, TransportError."""
        path = kind.path(namespace, name, subresource)
        return await self._ask(Request("POST", path, self._named, encode(obj), "application/json"))

    async def merge(self, kind: Kind, namespace: str, name: str, change: Json, *, subresource: str = "") -> Json:
        """Merge patch. Raises Rejected, TransportError."""
        return await self._patch(kind.path(namespace, name, subresource), change, MERGE_PATCH)

    async def strategic(self, kind: Kind, namespace: str, name: str, change: Json, *, subresource: str = "") -> Json:
        """Strategic merge patch. Raises Rejected, TransportError."""
        return await self._patch(kind.path(namespace, name, subresource), change, STRATEGIC_MERGE)

    async def json_patch(self, kind: Kind, namespace: str, name: str, operations: list[Json]) -> Json:
        """JSON patch. Raises Rejected, TransportError."""
        return await self._patch(kind.path(namespace, name), operations, JSON_PATCH)

    async def _patch(self, path: str, change: object, content_type: str) -> Json:
        return await self._ask(Request("PATCH", path, self._named, encode(change), content_type))

    async def delete(self, kind: Kind, namespace: str, name: str, options: Json | None = None) -> Json | None:
        """DELETE; None when it was gone already. Raises Rejected, TransportError."""
        path, body = (
            kind.path(namespace, name),
            encode({"kind": "DeleteOptions", "apiVersion": "v1", **(options or {})}),
        )
        try:
            return await self._ask(Request("DELETE", path, body=body, content_type="application/json"))
        except Rejected as no:
            if no.status == 404:
                return None
            raise

    async def list(self, kind: Kind, fields: str = "") -> tuple[list[Json], str]:
        """All objects, in every namespace, and the version to watch from. Raises Rejected, TransportError."""
        page = await self._ask(Request("GET", kind.path(), {"fieldSelector": fields} if fields else {}))
        items = [{"kind": kind.kind, "apiVersion": kind.api_version} | item for item in page["items"]]
        return items, page["metadata"]["resourceVersion"]

    async def watch(self, kind: Kind, version: str, fields: str = "") -> AsyncGenerator[Json, None]:
        """Events after a version until the server ends it. Raises Rejected, TransportError."""
        query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "600"}
        if fields:
            query["fieldSelector"] = fields
        request = Request("GET", kind.path(), query, timeout=120.0)
        async with self._transport.stream(request) as stream:
            if stream.status != 200:
                raise Rejected(request, Response(stream.status, await stream.read()))
            tail = b""
            chunks = stream.chunks()
            try:
                async for chunk in chunks:
                    *lines, tail = (tail + chunk).split(b"\n")
                    for line in lines:
                        yield decode(line)
            finally:
                if isinstance(chunks, AsyncGenerator):  # as in memory; over HTTP the stream's own end closes it
                    await chunks.aclose()

    async def _ask(self, request: Request) -> Json:
        response = await self._transport.send(request)
        if response.status >= 400:
            raise Rejected(request, response)
        body = decode(response.body)
        if not isinstance(body, dict):
            raise Rejected(request, response)
        return body
