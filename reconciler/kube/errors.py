"""What does a failed answer mean? Statuses and Status bodies become the few words of `runtime.errors`."""

import msgspec

from reconciler.model.quoting import quoted
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Request, Response, Transport, TransportError

LONGEST_UNKNOWN_BODY = 200
"""Characters: a proxy's HTML page has no place in a log line."""


class Expired(Stale):
    """410: the version that was named is older than the server remembers; list again."""


class Exists(Stale):
    """Something of that name is there already."""


class UidMismatch(Gone):
    """The object has been replaced by a namesake since it was looked at."""


class Cause(msgspec.Struct):
    field: str | None = None
    reason: str | None = None
    message: str | None = None


class Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int | None = None
    causes: list[Cause] | None = None


class Status(msgspec.Struct):
    """The body of a refusal, as far as it is read. apimachinery, meta/v1 Status."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: Details | None = None


_STATUS = msgspec.json.Decoder(Status)


def status_of(body: bytes) -> Status:
    """The Status in a body; what is no Status becomes a message, shortened."""
    try:
        found = _STATUS.decode(body)
    except (msgspec.DecodeError, RecursionError):  # the latter for a thousand nested brackets
        found = Status()
    if not found.message:
        words = quoted(body[: 4 * LONGEST_UNKNOWN_BODY].decode(errors="replace"), LONGEST_UNKNOWN_BODY)
        found.message = found.reason or words or "no explanation"
    return found


def meaning(what: str, code: int, status: Status, retry_after: float | None = None) -> Exception:
    """The exception that an answer is. `what` names the verb and the object, for an administrator to grant or mend."""
    why = f"{what}: {code} {status.message}"
    if retry_after is None and status.details is not None and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    if _names_another_uid(status):
        return UidMismatch(why)
    match code:
        case 401 | 403:
            return Forbidden(why)
        case 404:
            return Gone(why)
        case 409:
            # The other reason, Conflict, comes from a POST too: a quota that was counted at the same moment.
            return Exists(why) if status.reason == "AlreadyExists" else Stale(why)
        case 410:
            return Expired(why)
        case 408 | 429:
            return Unavailable(why, retry_after)
        case _ if code >= 500:
            return Unavailable(why, retry_after)
        case _:
            return Rejected(why)


def _names_another_uid(status: Status) -> bool:
    """Whether the only thing wrong is the UID that we gave as a precondition.

    A patch with another `metadata.uid` fails validation (422, cause `metadata.uid`, "field is immutable"); a
    precondition proper is a conflict ("Precondition failed: UID in precondition: ..., UID in object meta: ...").
    """
    if status.message and "UID in precondition" in status.message:
        return True
    causes = status.details.causes if status.details is not None else None
    return any(cause.field == "metadata.uid" for cause in causes or ())


async def ask(transport: Transport, request: Request) -> Response:
    """Send, and return a good answer. Raises the words of `runtime.errors` for every other one."""
    what = f"{request.method} {request.path}"
    try:
        response = await transport.send(request)
    except TransportError as error:
        raise Unavailable(f"{what}: {error}") from error
    if 200 <= response.status < 300:
        return response
    raise meaning(what, response.status, status_of(response.body), response.retry_after)
