"""Which page of a list comes next? Pages are joined from stored bytes, and all pages of one list show one moment."""

import base64
from collections.abc import Mapping

import msgspec

from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import Json, decode, encode
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.refusal import bad_request, expired, too_new
from reconciler.sandbox.routes import Route
from reconciler.sandbox.selectors import selector
from reconciler.sandbox.shelf import TooOld


def list_page(route: Route, query: Mapping[str, str], version: int) -> Response:
    """One page; `version` is the store's now. Raises a 410 Refusal when the continue token is older than the log."""
    kind = route.shelf.kind
    if (wanted := query.get("resourceVersion", "")).isdigit() and int(wanted) > version:
        raise too_new(int(wanted), version)
    after = f"{route.namespace}/" if route.namespace else ""
    scope = after
    if token := query.get("continue"):
        version, after = _read_token(token)
    chosen = selector(kind, query)
    limit = _limit(query)
    items: list[bytes] = []
    more = ""
    try:
        for key, data in route.shelf.after(after, version):
            if not key.startswith(scope):
                break
            if chosen and not chosen.accepts(data):
                continue
            if limit and len(items) == limit:
                more = _token(version, after)
                break
            items.append(data if kind.custom else b"{" + data[len(kind.prefix) :])
            after = key
    except TooOld as old:
        text = "The provided continue parameter is too old to display a consistent list result."
        raise expired(text) from old
    meta: Json = {"resourceVersion": str(version)}
    if more:
        meta["continue"] = more
        if not chosen:
            meta["remainingItemCount"] = route.shelf.count(after, scope)
    head = encode({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta})
    return Response(200, b"".join((head[:-1], b',"items":[', b",".join(items), b"]}")))


def _limit(query: Mapping[str, str]) -> int:
    """A list at version 0 comes from the watch cache, which pays no heed to limit."""
    text = query.get("limit", "0")
    if not text.isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    cached = query.get("resourceVersion") == "0" and "continue" not in query
    return 0 if cached else int(text)


def _token(version: int, key: str) -> str:
    return base64.urlsafe_b64encode(encode({"v": "meta.k8s.io/v1", "rv": version, "start": key})).decode()


def _read_token(token: str) -> tuple[int, str]:
    try:
        read = decode(base64.urlsafe_b64decode(token))
        return int(read["rv"]), str(read["start"])
    except (ValueError, msgspec.DecodeError, KeyError, TypeError) as broken:
        raise bad_request("invalid continue token: continue key is not valid") from broken


def empty_list(kind: Kind, version: int) -> bytes:
    """What an emptied collection answers."""
    return encode(
        {
            "kind": f"{kind.kind}List",
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": str(version)},
            "items": [],
        }
    )
