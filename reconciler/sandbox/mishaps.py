"""How do well-known error answers look on the wire? Ready answers for `faults.Answer`."""

from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.eviction import MANY_BUDGETS, VIOLATES
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.refusal import STALE, status_object


def _status(
    code: int, reason: str, message: str, details: Json | None = None, retry_after: float | None = None
) -> Answer:
    return Answer(Response(code, encode(status_object(code, reason, message, details)), retry_after))


def _budget(cause: str, retry_after: int | None = None) -> Answer:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    return _status(429, "TooManyRequests", VIOLATES, details, retry_after)


CONFLICT = _status(409, "Conflict", f"Operation cannot be fulfilled: {STALE}")
GONE = _status(410, "Expired", "too old resource version: 1 (1000)")
FORBIDDEN = _status(403, "Forbidden", "forbidden: User cannot do this in the sandbox")
UNAUTHORIZED = _status(401, "Unauthorized", "Unauthorized")
THROTTLED = Answer(Response(429, b"Too many requests, please try again later.\n", 1.0))
"""API Priority and Fairness: plain text, Retry-After 1."""
THROTTLED_SILENTLY = Answer(Response(429, b"Too many requests, please try again later.\n"))
"""The same, as a proxy that drops the header hands it on."""
BUDGET_EMPTY = _budget("The disruption budget sandbox needs 1 healthy pods and has 1 currently")
BUDGET_BUSY = _budget("The disruption budget sandbox is still being processed by the server.", 10)
MANY_BUDGETS_500 = _status(500, "", MANY_BUDGETS)
ERROR_500 = _status(500, "InternalError", "Internal error occurred: etcdserver: leader changed")
ERROR_500_HTML = Answer(
    Response(500, b"<html><head><title>500</title></head><body>Internal Server Error</body></html>\n")
)
UNAVAILABLE = _status(503, "ServiceUnavailable", "apiserver is shutting down", None, 1.0)
