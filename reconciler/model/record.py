"""What did we last say about a node, and from which figures? The annotation `gpu-reconciler.io/capacity`.

It is the project's memory on the node: what is advertised and owned, what EC2 promised, what the probe of which boot
found. A restarted controller knows all it needs from it; a hand-edited one is said to be unreadable, and rebuilt.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from reconciler.model import fields, probe_report
from reconciler.model.fields import LARGEST_INT, LARGEST_MIB, MOST_GPUS, FieldError, Fields
from reconciler.model.probe_report import ProbeReason, ReportError
from reconciler.model.probe_state import Probed, ProbeFailed
from reconciler.model.quantity import MIB

VERSION = 1

_MOST_ADVERTISED_MIB = LARGEST_INT // MIB
"""All that a node can advertise. More than its GPUs may have: what running pods hold stays advertised."""


class Source(StrEnum):
    """Where the advertised figure comes from, best first."""

    NVML = "nvml"
    LEARNED = "learned"
    BUILTIN = "builtin"
    EC2 = "ec2"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Contest:
    """How often somebody wrote another value over ours since a time: the evidence that stops a fight."""

    count: int
    since: datetime


@dataclass(frozen=True, slots=True)
class CapacityRecord:
    resource: str
    """The memory resource that these figures are of; after a change of the setting, the one to withdraw."""
    advertised_mib: int | None
    """None: nothing is advertised and nothing is owned."""
    source: Source
    gpu: str = ""
    count: int = 0
    ec2_mib: int | None = None
    """EC2's figure per GPU, None when EC2 was not asked."""
    boot_id: str = ""
    """The boot that `probe` belongs to."""
    probe: Probed | ProbeFailed | None = None
    contest: Contest | None = None
    serial: int = 0
    """How many probes of this boot had ended before `probe`: names the next Job, should one more be tried."""
    seen: datetime | None = None
    """When we first saw the end of `probe`, by our own clock; its own time is by the node's."""

    def to_json(self) -> str:
        document: dict[str, Any] = {"v": VERSION, "resource": self.resource, "advertisedMiB": self.advertised_mib}
        document |= {"source": self.source.value, "gpu": self.gpu, "count": self.count, "ec2MiB": self.ec2_mib}
        document |= {"bootID": self.boot_id, "serial": self.serial}
        match self.probe:
            case Probed(report, at):
                document["probe"] = {"at": at.isoformat(), "report": json.loads(report.to_json())}
            case ProbeFailed(reason, message, at):
                document["probe"] = {"at": at.isoformat(), "reason": reason.value, "message": message}
            case None:
                pass
        if self.seen is not None:
            document["seen"] = self.seen.isoformat()
        if self.contest is not None:
            document["contest"] = {"count": self.contest.count, "since": self.contest.since.isoformat()}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """The annotation is there but was not written by this version of us; `why` names the field."""

    why: str


def parse(text: str) -> CapacityRecord | UnreadableRecord:
    """Read the annotation. Total: what cannot be read is a value, since a person may have edited it."""
    try:
        return _record(Fields.of(fields.load(text)))
    except (FieldError, ReportError) as error:
        return UnreadableRecord(str(error))


def _record(found: Fields) -> CapacityRecord:
    if (version := found.whole("v", LARGEST_INT)) != VERSION:
        raise FieldError(f"v is {version}, this version reads {VERSION}")
    return CapacityRecord(
        resource=found.text("resource"),
        advertised_mib=_mib(found, "advertisedMiB", _MOST_ADVERTISED_MIB),
        source=found.choice("source", Source),
        gpu=found.text("gpu"),
        count=found.whole("count", MOST_GPUS),
        ec2_mib=_mib(found, "ec2MiB", MOST_GPUS * LARGEST_MIB),
        boot_id=found.text("bootID"),
        probe=_probe(found.object("probe")) if found.has("probe") else None,
        contest=_contest(found.object("contest")) if found.has("contest") else None,
        serial=found.whole("serial", LARGEST_INT),
        seen=found.moment("seen") if found.has("seen") else None,
    )


def _mib(found: Fields, key: str, most: int) -> int | None:
    """Null stands for None and must be written: a missing figure is a mistake."""
    return None if key in found.entry and not found.has(key) else found.whole(key, most)


def _probe(found: Fields) -> Probed | ProbeFailed:
    at = found.moment("at")
    if found.has("report"):
        return Probed(probe_report.read(found.object("report")), at)
    return ProbeFailed(found.choice("reason", ProbeReason), found.text("message"), at)


def _contest(found: Fields) -> Contest:
    return Contest(found.whole("count", LARGEST_INT), found.moment("since"))
