"""How do objects and times become bytes and text, and back?"""

from datetime import UTC, datetime
from typing import Any

import msgspec

Json = dict[str, Any]
"""A decoded object. The sandbox plays the server, so here, and only here, dicts of the outside world are at home."""

encode = msgspec.json.encode
decode = msgspec.json.decode
DecodeError = msgspec.DecodeError


def stamp(moment: datetime) -> str:
    """RFC 3339 in whole seconds, as metav1.Time is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: datetime) -> str:
    """RFC 3339 with microseconds, as metav1.MicroTime (leases) is written."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str) -> datetime:
    """The time that `stamp` or `micro_stamp` wrote. Raises ValueError for anything else."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
