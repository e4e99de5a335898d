"""What does the server answer? A function from requests to responses over the store; wires and faults are elsewhere."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TypedDict

from reconciler.runtime.transport import Request, Response
from reconciler.sandbox import discovery, writing
from reconciler.sandbox.binding import bind
from reconciler.sandbox.deleting import delete, delete_options
from reconciler.sandbox.encoding import DecodeError, Json, decode, encode
from reconciler.sandbox.eviction import evict
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.listing import empty_list, list_page
from reconciler.sandbox.patch import patched
from reconciler.sandbox.refusal import NoSuchPath, Refusal, bad_request, not_found
from reconciler.sandbox.routes import Route, route
from reconciler.sandbox.selectors import selector
from reconciler.sandbox.store import Store
from reconciler.sandbox.watching import watch, watch_options


@dataclass(frozen=True, slots=True)
class Watch:
    """An answer that goes on: blocks of whole watch lines; an empty block only asks to look around."""

    blocks: AsyncGenerator[bytes, None]


class _How(TypedDict):
    dry_run: bool
    manager: str


SUCCESS = encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


class Api:
    """The API server: a function from requests to answers."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def handle(self, request: Request) -> Response | Watch:
        """Answer one request. Writes happen at once; only a watch goes on."""
        try:
            found = discovery.answer(self.store, request.path)
            return found or self._resource(request)
        except (Refusal, NoSuchPath) as no:
            return no.response()

    def _resource(self, request: Request) -> Response | Watch:
        where = route(self.store, request.path)
        match request.method, bool(where.name), where.subresource:
            case "GET", False, "":
                return self._many(where, request)
            case "GET", True, "" | "status":
                return self._many(where, request) if _is_watch(request) else self._one(where)
            case "POST", False, "":
                obj = writing.check_type(where.shelf.kind, _body(request))
                return Response(201, writing.create(self.store, where, obj, **_how(request)))
            case "PUT", True, "" | "status":
                return self._replace(where, request)
            case "PATCH", True, "" | "status":
                return self._patch(where, request)
            case "DELETE", _, "":
                return self._delete(where, request)
            case "POST", True, "eviction" if where.shelf.kind == PODS:
                evict(self.store, where, _dict_body(request), _dry(request))
                return Response(201, SUCCESS)
            case "POST", True, "binding" if where.shelf.kind == PODS:
                bind(self.store, where, _dict_body(request))
                return Response(201, SUCCESS)
            case "GET" | "POST" | "PUT" | "PATCH" | "DELETE", _, _:
                raise NoSuchPath
            case _:
                raise Refusal(
                    405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
                )

    def _many(self, where: Route, request: Request) -> Response | Watch:
        if _is_watch(request):
            return Watch(watch(self.store, where, watch_options(where, request.query)))
        return list_page(where, request.query, self.store.version)

    def _one(self, where: Route) -> Response:
        data = where.shelf.raw(where.key)
        if data is None:
            raise not_found(where.shelf.kind, where.name)
        return Response(200, data)

    def _replace(self, where: Route, request: Request) -> Response:
        obj = writing.check_type(where.shelf.kind, _body(request))
        if obj.get("metadata", {}).get("name", where.name) != where.name:
            raise bad_request("the name of the object does not match the name on the URL")
        _need_status(where)
        writing.refuse_late_version(where.shelf.kind, obj)
        return Response(200, writing.update(self.store, where, lambda _: obj, replace=True, **_how(request)))

    def _patch(self, where: Route, request: Request) -> Response:
        _need_status(where)
        kind = where.shelf.kind
        data = writing.update(
            self.store, where, lambda old: patched(kind, old, request.content_type, request.body), **_how(request)
        )
        return Response(200, data)

    def _delete(self, where: Route, request: Request) -> Response:
        kind = where.shelf.kind
        options = delete_options(request.query, _dict_body(request) if request.body else {})
        if where.name:
            data, gone = delete(self.store, where, options)
            if not gone or kind == PODS:
                return Response(200, data)
            group = {"group": kind.group} if kind.group else {}
            details = {"name": where.name, **group, "kind": kind.plural, "uid": decode(data)["metadata"]["uid"]}
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
            return Response(200, encode(status))
        chosen = selector(kind, request.query)
        scope = f"{where.namespace}/" if where.namespace else ""
        for key, data in where.shelf.items():
            if key.startswith(scope) and (not chosen or chosen.accepts(data)):
                namespace, _, name = key.rpartition("/")
                delete(self.store, Route(where.shelf, namespace, name), options)
        return Response(200, empty_list(kind, self.store.version))


def _is_watch(request: Request) -> bool:
    return request.query.get("watch") in ("true", "1")


def _dry(request: Request) -> bool:
    return request.query.get("dryRun") == "All"


def _how(request: Request) -> _How:
    return {"dry_run": _dry(request), "manager": request.query.get("fieldManager", "")}


def _need_status(where: Route) -> None:
    if where.subresource == "status" and not where.shelf.kind.status:
        raise NoSuchPath


def _body(request: Request) -> object:
    if "protobuf" in request.content_type or "cbor" in request.content_type:
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    try:
        return decode(request.body)
    except DecodeError as broken:
        raise bad_request(f"the object provided is unrecognized: {broken}") from broken


def _dict_body(request: Request) -> Json:
    obj = _body(request)
    if not isinstance(obj, dict):
        raise bad_request("the object provided is unrecognized: it is no JSON object")
    return obj
