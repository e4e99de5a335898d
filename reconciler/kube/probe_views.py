"""What do a probe Job and its pods say? Only what a verdict can be drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct, field

from reconciler.kube.parse import Odd, moment
from reconciler.kube.wire import ConditionWire, Meta
from reconciler.model import names
from reconciler.model.node import NodeName


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How the Job controller ended the Job: complete, or failed with a reason."""

    complete: bool
    reason: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class JobView:
    name: str
    uid: str
    node: NodeName
    node_uid: str
    boot_id: str
    created: datetime
    end: JobEnd | None = None


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """`message` is the termination message: the probe's report, or the end of its log."""

    exit_code: int
    reason: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ProbePodView:
    name: str
    job_uid: str
    node: NodeName
    created: datetime
    failed: bool = False
    reason: str = ""
    message: str = ""
    """Of the pod as a whole: why the kubelet refused it."""
    unschedulable: str = ""
    scheduled: bool = False
    waiting_reason: str = ""
    waiting_message: str = ""
    running: bool = False
    end: ContainerEnd | None = None


class ProbeAnnotations(Struct):
    node: str | None = field(default=None, name=names.ANNOTATION_NODE)
    node_uid: str | None = field(default=None, name=names.ANNOTATION_NODE_UID)
    boot_id: str | None = field(default=None, name=names.ANNOTATION_BOOT_ID)


class OwnerWire(Struct):
    kind: str | None = None
    uid: str | None = None


class ProbeMeta(Meta, rename="camel"):
    annotations: ProbeAnnotations | None = None
    owner_references: list[OwnerWire] | None = None


class JobStatusWire(Struct):
    conditions: list[ConditionWire] | None = None


class JobWire(Struct):
    metadata: ProbeMeta
    status: JobStatusWire | None = None


class WaitingWire(Struct):
    reason: str | None = None
    message: str | None = None


class TerminatedWire(Struct, rename="camel"):
    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None
    finished_at: str | None = None


class RunningWire(Struct, rename="camel"):
    started_at: str | None = None


class StateWire(Struct):
    waiting: WaitingWire | None = None
    running: RunningWire | None = None
    terminated: TerminatedWire | None = None


class ContainerStatusWire(Struct):
    state: StateWire | None = None


class ProbePodStatus(Struct, rename="camel"):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    conditions: list[ConditionWire] | None = None
    container_statuses: list[ContainerStatusWire] | None = None


class ProbePodWire(Struct):
    metadata: ProbeMeta
    status: ProbePodStatus | None = None


def job(wire: JobWire, odd: Odd) -> JobView:
    meta = wire.metadata
    notes = meta.annotations or ProbeAnnotations()
    return JobView(
        name=meta.name,
        uid=meta.uid or "",
        node=NodeName(notes.node or ""),
        node_uid=notes.node_uid or "",
        boot_id=notes.boot_id or "",
        created=moment(meta.creation_timestamp, odd, "metadata.creationTimestamp"),
        end=_job_end((wire.status.conditions if wire.status is not None else None) or (), odd),
    )


def _job_end(conditions: Sequence[ConditionWire], odd: Odd) -> JobEnd | None:
    for one in conditions:
        if one.type in ("Complete", "Failed") and one.status == "True":
            at = moment(one.last_transition_time, odd, f"status.conditions[{one.type}].lastTransitionTime")
            return JobEnd(one.type == "Complete", one.reason or "", one.message or "", at)
    return None


def probe_pod(wire: ProbePodWire, odd: Odd) -> ProbePodView:
    meta, status = wire.metadata, wire.status or ProbePodStatus()
    notes = meta.annotations or ProbeAnnotations()
    state = next((one.state for one in status.container_statuses or () if one.state is not None), StateWire())
    waiting = state.waiting or WaitingWire()
    return ProbePodView(
        name=meta.name,
        job_uid=next((owner.uid or "" for owner in meta.owner_references or () if owner.kind == "Job"), ""),
        node=NodeName(notes.node or ""),
        created=moment(meta.creation_timestamp, odd, "metadata.creationTimestamp"),
        failed=status.phase == "Failed",
        reason=status.reason or "",
        message=status.message or "",
        unschedulable=_unschedulable(status),
        scheduled=any(one.type == "PodScheduled" and one.status == "True" for one in status.conditions or ()),
        waiting_reason=waiting.reason or "",
        waiting_message=waiting.message or "",
        running=state.running is not None,
        end=_container_end(state.terminated, odd),
    )


def _unschedulable(status: ProbePodStatus) -> str:
    for one in status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False":
            return one.message or one.reason or "no node fits"
    return ""


def _container_end(wire: TerminatedWire | None, odd: Odd) -> ContainerEnd | None:
    if wire is None:
        return None
    at = moment(wire.finished_at, odd, "status.containerStatuses.state.terminated.finishedAt")
    return ContainerEnd(wire.exit_code or 0, wire.reason or "", wire.message or "", at)
