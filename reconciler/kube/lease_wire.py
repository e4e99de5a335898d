"""What does a Lease say? coordination.k8s.io/v1, as far as an election looks at it."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from reconciler.kube.wire import Meta
from reconciler.runtime.errors import Rejected


class LeaseSpec(Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    acquire_time: str | None = None
    lease_transitions: int | None = None


class LeaseWire(Struct):
    metadata: Meta
    spec: LeaseSpec | None = None


_LEASE = msgspec.json.Decoder(LeaseWire)


def decode(body: bytes) -> LeaseWire:
    """Raises Rejected when it is no Lease at all."""
    try:
        return _LEASE.decode(body)
    except msgspec.DecodeError as error:
        raise Rejected(f"the Lease cannot be read: {error}") from error


def micro_time(at: datetime) -> str:
    """Kubernetes' MicroTime: always six digits."""
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def spec(
    holder: str, duration: float, now: datetime, *, acquired: str | None = None, transitions: int | None = None
) -> dict[str, Any]:
    """The fields to write; those that are None stay as they are."""
    fields = {
        "holderIdentity": holder,
        "leaseDurationSeconds": max(1, round(duration)),
        "renewTime": micro_time(now),
        "acquireTime": acquired,
        "leaseTransitions": transitions,
    }
    return {name: value for name, value in fields.items() if value is not None}
