"""How did a story end? Everything that we are answerable for, without times, so that two endings can be compared."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from reconciler.kube import catalog_entries
from reconciler.model import names
from reconciler.model import record as records
from reconciler.model.probe_state import Probed, ProbeFailed
from reconciler.model.record import CapacityRecord, UnreadableRecord
from reconciler.sandbox.kinds import EVENTS, NODES
from tests.stories.stage import Stage

_ONCE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OfNode:
    """What stands on one node."""

    advertised: int | None
    reason: str
    told: str
    """The reason of the newest event."""
    message: str
    labels: tuple[tuple[str, str], ...]
    taints: tuple[str, ...]
    record: CapacityRecord | UnreadableRecord | None


@dataclass(frozen=True, slots=True)
class Ending:
    """All nodes, what is left of the probes, and what the catalog has learned.

    EC2's answers are left out: those that could not be written down are asked for again by the next process.
    """

    nodes: tuple[tuple[str, OfNode], ...]
    jobs: int
    learned: tuple[str, ...]


def ending(play: Stage) -> Ending:
    """The state now."""
    found = [node["metadata"]["name"] for node in play.sandbox.store.all(NODES)]
    learned = sorted(key for key in play.catalog() if key.startswith(catalog_entries.LEARNED))
    return Ending(tuple((name, _of(play, name)) for name in found), len(play.jobs()), tuple(learned))


def _of(play: Stage, name: str) -> OfNode:
    text = play.node(name)["metadata"]["annotations"].get(names.RECORD)
    return OfNode(
        advertised=play.advertised(name),
        reason=play.reason(name),
        told="".join(play.events(name)[-1:]),
        message=str(play.condition(name).get("message", "")),
        labels=tuple(sorted(play.labels(name).items())),
        taints=tuple(play.taints(name)),
        record=None if text is None else _timeless(records.parse(text)),
    )


def _timeless(record: CapacityRecord | UnreadableRecord) -> CapacityRecord | UnreadableRecord:
    match record:
        case CapacityRecord(probe=Probed() | ProbeFailed() as probe):
            return replace(record, probe=replace(probe, at=_ONCE), seen=_ONCE)
        case CapacityRecord() | UnreadableRecord():
            return record


def effective(play: Stage) -> dict[str, int]:
    """How many writes of ours were accepted: node patches, Jobs that were made, events that are there."""
    done = [call for replica in play.replicas for call in play.writes(replica) if 200 <= call.status < 300]
    return {
        "node": sum("/nodes/" in call.path for call in done),
        "jobs": sum(call.path.endswith("/jobs") for call in done),
        "events": len(play.sandbox.store.all(EVENTS)),
    }
