"""How does the server say no? Each refusal is one exception that knows its HTTP status and its Status object."""

from collections.abc import Sequence

from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.kinds import Kind


def status_object(code: int, reason: str, message: str, details: Json | None = None) -> Json:
    """A `Status` of kind Failure, in the real server's order of keys. An empty reason is left off, as it does."""
    body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        body["reason"] = reason
    if details is not None:
        body["details"] = details
    body["code"] = code
    return body


class Refusal(Exception):
    """The request is answered with an error."""

    def __init__(
        self, code: int, reason: str, message: str, details: Json | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after

    @property
    def body(self) -> Json:
        details = self.details
        if self.retry_after is not None:
            details = {**(details or {}), "retryAfterSeconds": int(self.retry_after)}
        return status_object(self.code, self.reason, self.message, details)

    def response(self) -> Response:
        return Response(self.code, encode(self.body), self.retry_after)


class NoSuchPath(Exception):
    """The server serves no such path: a Status in a group it was built with, plain text elsewhere (a CRD not there)."""

    def __init__(self, *, known_group: bool = False) -> None:
        super().__init__()
        self._known_group = known_group

    def response(self) -> Response:
        if self._known_group:
            return Refusal(404, "NotFound", "the server could not find the requested resource", {}).response()
        return Response(404, b"404 page not found\n")


def _about(kind: Kind, name: str) -> Json:
    details: Json = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    return details


def not_found(kind: Kind, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{kind.resource} "{name}" not found', _about(kind, name))


def already_exists(kind: Kind, name: str) -> Refusal:
    return Refusal(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _about(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refusal:
    return Refusal(
        409, "Conflict", f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}', _about(kind, name)
    )


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def invalid(kind: Kind, name: str, faults: Sequence[tuple[str, str]]) -> Refusal:
    """422, with one cause for each (field, what is wrong)."""
    texts = [f"{field}: {what}" for field, what in faults]
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    details: Json = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.kind
    details["causes"] = [{"reason": _cause(what), "message": what, "field": field} for field, what in faults]
    title = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Refusal(422, "Invalid", f'{title} "{name}" is invalid: {joined}', details)


_CAUSES = {
    "Required": "FieldValueRequired",
    "Forbidden": "FieldValueForbidden",
    "Unsupported": "FieldValueNotSupported",
    "Duplicate": "FieldValueDuplicate",
}


def _cause(what: str) -> str:
    return _CAUSES.get(what.partition(" ")[0].rstrip(":"), "FieldValueInvalid")


def undecodable_patch(why: str) -> Refusal:
    """422 of a patch whose result is no object of the kind, such as a quantity that is none (patch.go)."""
    what = f"Invalid value: {why}"
    causes = [{"reason": "FieldValueInvalid", "message": what, "field": "patch"}]
    return Refusal(422, "Invalid", f' "" is invalid: patch: {what}', {"causes": causes})


def not_applicable() -> Refusal:
    """422 of a JSON patch whose test fails or whose path is not there (patch.go, NewGenericServerResponse)."""
    return Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {})


def too_new(asked: int, newest: int) -> Refusal:
    """504: the client has seen a version that this server has not, as after a restored backup."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    text = f"Timeout: Too large resource version: {asked}, current: {newest}"
    return Refusal(504, "Timeout", text, {"causes": causes}, retry_after=1)


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)
