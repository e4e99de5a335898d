"""How does our NoSchedule taint on a node read? `gpu-reconciler.io/fence=<purpose>-<deadline>:NoSchedule`.

The deadline is in the taint itself, so that whoever finds it after a crash knows when it must go.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.model import names
from reconciler.model.node import Taint

SLICING = "slicing"
"""Purpose: the node's profile is being switched."""

_FORM = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Fence:
    purpose: str
    until: datetime | None
    """None: somebody edited the value, and the deadline is lost."""


def of(taints: tuple[Taint, ...]) -> Fence | None:
    """The fence among the taints, if there is one."""
    for taint in taints:
        if taint.key == names.FENCE_TAINT:
            purpose, _, text = (taint.value or "").rpartition("-")
            try:
                until = datetime.strptime(text, _FORM).replace(tzinfo=UTC)
            except ValueError:
                return Fence(purpose or text, None)
            return Fence(purpose, until)
    return None


def taint(purpose: str, until: datetime) -> Taint:
    """The taint of a new fence, to the second."""
    return Taint(names.FENCE_TAINT, "NoSchedule", f"{purpose}-{until.astimezone(UTC).strftime(_FORM)}")
