"""How far is the probe of a node's present boot? The asynchronous part of a join, as a value."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.model.probe_report import ProbeReason, ProbeReport


@dataclass(frozen=True, slots=True)
class NotProbed:
    """No probe Job of this node and boot exists."""


@dataclass(frozen=True, slots=True)
class Probing:
    """The Job is there and has not ended. `waiting` tells what holds it up (ImagePullBackOff: ...), or is empty."""

    since: datetime
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """The Job ended with a report, which may still hold errors of single GPUs."""

    report: ProbeReport
    at: datetime


@dataclass(frozen=True, slots=True)
class ProbeFailed:
    """The Job ended for good without memory figures; `message` is a sentence for the node's owner."""

    reason: ProbeReason
    message: str
    at: datetime


ProbeState = NotProbed | Probing | Probed | ProbeFailed
