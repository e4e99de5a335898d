"""Who called the API server, and how often?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.controlplane.api import Json

_OWN_NOISE = ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver"]

# Writes with their bodies, reads without; the control plane's own talk is nobody's question.
POLICY: Json = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": _OWN_NOISE},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete"]},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True, slots=True)
class Call:
    """One request that the API server has answered, or a watch that it has opened.

    `resource` holds the subresource too ("nodes/status"). `body` is the request's object, for writes that were not
    refused before it was read. `credential` tells apart what shares a user: the id of the token. `at` is when the
    request came in.
    """

    user: str
    user_agent: str
    verb: str
    resource: str
    name: str
    namespace: str
    uri: str
    status: int
    body: Json | None
    credential: str
    at: datetime


def calls(log: Path) -> Iterator[Call]:
    """All calls in the order in which they were answered."""
    if not log.exists():
        return
    seen: set[str] = set()
    for line in log.read_text().splitlines(keepends=True):
        if not line.endswith("\n"):
            return  # being written at this moment
        event = json.loads(line)
        if event["auditID"] in seen:
            continue  # a watch is written when it opens and again when it ends
        seen.add(event["auditID"])
        yield _call(event)


def _call(event: Json) -> Call:
    where = event.get("objectRef", {})
    user = event.get("impersonatedUser") or event["user"]
    parts = [where.get("resource", ""), where.get("subresource", "")]
    return Call(
        user=user["username"],
        user_agent=event.get("userAgent", ""),
        verb=event["verb"],
        resource="/".join(part for part in parts if part),
        name=where.get("name", ""),
        namespace=where.get("namespace", ""),
        uri=event["requestURI"],
        status=event.get("responseStatus", {}).get("code", 0),
        body=event.get("requestObject"),
        credential="".join(user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [])),
        at=datetime.fromisoformat(event["requestReceivedTimestamp"]),
    )
