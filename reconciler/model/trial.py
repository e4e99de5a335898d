"""How far did a pod come that asked for a GPU as any pod does? One verify Job, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.model.node import NodeKey
from reconciler.model.probe_report import ProbeReport


@dataclass(frozen=True, slots=True)
class RunVerification:
    """One POST of a verify Job, named after node UID, boot and `serial`: a repeat is a conflict, no second Job."""

    node: NodeKey
    boot_id: str
    asks: Mapping[str, int]
    """What its pod asks for besides cpu and memory: resource to amount, in base units."""
    serial: int = 0


@dataclass(frozen=True, slots=True)
class NoPod:
    """The Job has made no pod, or none that anybody saw; `why` is what its end says, or empty."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """The scheduler has found no place; `message` is its own, or empty while it has not looked."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """The scheduler chose the node, and the kubelet has not begun; `waiting` says what it is at, or is empty."""

    waiting: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The kubelet did not admit the pod."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NoImage:
    """The node cannot get the image."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The container could not be made or started."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Running:
    """The program runs, or ran when it was last seen."""


@dataclass(frozen=True, slots=True)
class Died:
    """The program ended without a report that can be read; `why` says what it left."""

    exit_code: int
    why: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The program said what it sees, which may be nothing."""

    report: ProbeReport


Reached = NoPod | Unscheduled | Bound | Refused | NoImage | NotStarted | Running | Died | Answered


@dataclass(frozen=True, slots=True)
class Trial:
    """One verify Job of a node's present boot."""

    job: str
    reached: Reached
    ended: datetime | None = None
    """None: more may come."""
    late: bool = False
    """The Job's deadline ended it."""
