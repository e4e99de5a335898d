"""What did we last say about a node, and from which figures? The annotation `gpu-reconciler.io/capacity`.

It is the project's memory on the node: what is advertised and owned, what EC2 promised, what the probe of which boot
found. A restarted controller knows all it needs from it; a hand-edited one is said to be unreadable, and rebuilt.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from reconciler.model import probe_report
from reconciler.model.probe_report import ProbeReason
from reconciler.model.probe_state import Probed, ProbeFailed

VERSION = 1

T = TypeVar("T")


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
        return _parse(json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        return UnreadableRecord(str(error) or type(error).__name__)
    except KeyError as error:
        return UnreadableRecord(f"field {error.args[0]} is missing")


def _parse(document: dict[str, Any]) -> CapacityRecord:
    if document["v"] != VERSION:
        raise ValueError(f"v is {document['v']!r}, this version reads {VERSION}")
    contest = document.get("contest")
    return CapacityRecord(
        resource=_typed(document, "resource", str),
        advertised_mib=_optional_int(document, "advertisedMiB"),
        source=Source(document["source"]),
        gpu=_typed(document, "gpu", str),
        count=_typed(document, "count", int),
        ec2_mib=_optional_int(document, "ec2MiB"),
        boot_id=_typed(document, "bootID", str),
        probe=_probe(document.get("probe")),
        contest=Contest(_typed(contest, "count", int), _time(contest["since"])) if contest else None,
        serial=_typed(document, "serial", int),
    )


def _probe(document: dict[str, Any] | None) -> Probed | ProbeFailed | None:
    if document is None:
        return None
    at = _time(document["at"])
    if "report" in document:
        return Probed(probe_report.parse(json.dumps(document["report"], ensure_ascii=False, separators=(",", ":"))), at)
    return ProbeFailed(ProbeReason(document["reason"]), _typed(document, "message", str), at)


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"time {text!r} has no time zone")
    return at


def _typed(document: dict[str, Any], key: str, kind: type[T]) -> T:
    value = document[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{key} is {value!r}")
    return value


def _optional_int(document: dict[str, Any], key: str) -> int | None:
    return None if document[key] is None else _typed(document, key, int)
