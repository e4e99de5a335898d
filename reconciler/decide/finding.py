"""What do the probes say of a node's GPUs, those of this boot and the one that its record remembers?"""

from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.decide import advice
from reconciler.decide.promise import Promise
from reconciler.model import probe_report
from reconciler.model.node import NodeView
from reconciler.model.policy import CapacityPolicy
from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport
from reconciler.model.probe_state import NotProbed, Probed, ProbeFailed, ProbeState, Probing
from reconciler.model.quoting import quoted
from reconciler.model.record import CapacityRecord

UNUSABLE = frozenset(
    {
        ProbeReason.LIBRARY_NOT_FOUND,
        ProbeReason.DRIVER_NOT_LOADED,
        ProbeReason.VERSION_MISMATCH,
        ProbeReason.NO_GPU,
        ProbeReason.GPU_LOST,
    }
)
"""The GPU cannot be used. By all other reasons the probe, not the GPU, may be at fault."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The newest probe that ended, with the boot it belongs to."""

    probe: Probed | ProbeFailed
    boot_id: str
    serial: int
    fresh: bool
    """Whether it is of the node's present boot."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """No probe has ended. `progress` says how far the running one is, or is empty."""

    progress: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Memory of at least one GPU, none of them in MIG mode."""

    readings: tuple[GpuReading, ...]
    gpus: int
    """How many NVML lists, readable or not."""
    unread: str
    """Which GPUs could not be read and why, or empty."""
    driver: str
    at: datetime
    fresh: bool


@dataclass(frozen=True, slots=True)
class Sliced:
    """MIG is on."""

    text: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """No GPU can be used on this node."""

    text: str


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """The probe ended without figures, which says nothing against the GPU."""

    text: str


Finding = Unfinished | Measured | Sliced | Unusable | Inconclusive


def ended(node: NodeView, state: ProbeState, record: CapacityRecord | None) -> Ended | None:
    """The newest end of a probe: the Job's, or the record's, which outlives the Job."""
    known = None
    if record is not None and record.probe is not None:
        known = Ended(record.probe, record.boot_id, record.serial, fresh=record.boot_id == node.boot_id)
    match state:
        case Probed() | ProbeFailed():
            seen = Ended(_as_written(state), node.boot_id, 0, fresh=True)
            return _newer(known, seen) if known is not None and known.fresh else seen
        case NotProbed() | Probing():
            return known


def _newer(known: Ended, seen: Ended) -> Ended:
    """Of two ends in one boot, the one that counts.

    The times come from the node's clock, which may jump: another time is another probe, later or not. A try that says
    nothing (its pod was removed, its image is missing) does not undo what an earlier one said; only its time counts.
    """
    if not _tells(seen) and _tells(known):
        seen = replace(seen, probe=replace(known.probe, at=seen.probe.at))
    elif seen.probe.at == known.probe.at and (_tells(known) or not _tells(seen)):
        return known
    return known if seen.probe == known.probe else replace(seen, serial=known.serial + 1)


def first_seen(end: Ended, record: CapacityRecord | None, now: datetime) -> datetime:
    """When we first saw that this probe had ended, by our own clock: the node's may stand anywhere."""
    if record is None or (record.probe, record.boot_id, record.serial) != (end.probe, end.boot_id, end.serial):
        return now.replace(microsecond=0)
    return record.seen or end.probe.at


def _tells(end: Ended) -> bool:
    return not isinstance(of(end, NotProbed()), Inconclusive)


def still_counts(end: Ended, record: CapacityRecord | None, promised: Promise, policy: CapacityPolicy) -> bool:
    """Whether the end of a probe says something of the GPUs that the node has now.

    One of an earlier boot does until the next has answered, so that a reboot changes nothing by itself; but an instance
    may have been stopped and started as another type, and a probe of this boot must be on its way to correct a no.
    """
    if end.fresh:
        return True
    if not same_gpus(record, promised.model, promised.count, promised.ec2_mib):
        return False
    match of(end, NotProbed()):
        case Measured():
            return True
        case Sliced() | Unusable():
            return policy.probe
        case Inconclusive() | Unfinished():
            return False


def same_gpus(record: CapacityRecord | None, model: str, count: int | None, ec2_mib: int | None) -> bool:
    """Whether the record speaks of GPUs like these. What is not known tells no difference."""
    return (
        record is not None
        and record.gpu == model
        and record.count == (count if count is not None else record.count)
        and (record.ec2_mib == ec2_mib or None in (record.ec2_mib, ec2_mib))
    )


def of(end: Ended | None, state: ProbeState) -> Finding:
    """The meaning of what was found."""
    if end is None:
        return Unfinished(_progress(state))
    match end.probe:
        case Probed(report, at):
            return _of_report(report, at, end.fresh)
        case ProbeFailed(reason, message, _):
            return _of_reason(reason, message)


def _of_report(report: ProbeReport, at: datetime, fresh: bool) -> Finding:
    sliced = [gpu.index for gpu in report.gpus if gpu.mig is not None]
    if sliced:
        return Sliced(f"MIG is on (GPU {', '.join(map(str, sliced))})")
    if report.error is not None:
        return _of_reason(report.error, report.message)
    if not report.gpus:
        return _of_reason(ProbeReason.NO_GPU, report.message)
    readings = tuple(gpu for gpu in report.readable if gpu.total)
    if not readings:
        reasons = [gpu.error or ProbeReason.NOT_SUPPORTED for gpu in report.gpus]
        worst = next((reason for reason in reasons if reason in UNUSABLE), reasons[0])
        return _of_reason(worst, report.message)
    unread = [gpu for gpu in report.gpus if gpu not in readings]
    text = ", ".join(f"GPU {gpu.index}: {gpu.error or ProbeReason.NOT_SUPPORTED}" for gpu in unread)
    return Measured(readings, len(report.gpus), text, report.driver, at, fresh)


def _of_reason(reason: ProbeReason, message: str) -> Finding:
    said = quoted(message).rstrip(". ")
    text = f"{reason.value}{f' ({said})' if said else ''}: {advice.of(reason)}"
    return Unusable(text) if reason in UNUSABLE else Inconclusive(text)


def _progress(state: ProbeState) -> str:
    match state:
        case Probing(waiting=waiting):
            return f"the probe waits: {quoted(waiting)}" if waiting else "the probe is running"
        case NotProbed() | Probed() | ProbeFailed():
            return ""


def _as_written(state: Probed | ProbeFailed) -> Probed | ProbeFailed:
    """The probe as its record will read back, so that writing it down changes no later decision."""
    match state:
        case Probed(report, at):
            try:
                return Probed(probe_report.parse(report.to_json()), at)
            except probe_report.ReportError as error:
                return ProbeFailed(ProbeReason.BAD_REPORT, str(error), at)
        case ProbeFailed():
            return state
