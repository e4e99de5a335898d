"""What did the probe find, as far as its Job and pods tell? The best evidence decides, the newest among equals.

A container that never ran is an answer too: since the toolkit's 1.19 a node without a loaded driver cannot even create
the container, and no program of ours gets to say so.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from reconciler.kube.parse import EPOCH
from reconciler.kube.probe_views import ContainerEnd, JobEnd, JobView, ProbePodView
from reconciler.model import probe_report
from reconciler.model.probe_report import EXIT_CODES, FIRST_FINAL_EXIT_CODE, ProbeReason, ProbeReport, ReportError
from reconciler.model.probe_state import Probed, ProbeFailed, ProbeState, Probing
from reconciler.model.quoting import quoted

CREATING = ("", "ContainerCreating", "PodInitializing")
"""Waiting reasons that mean: all is well, only not yet. Every other one (image, runtime, configuration) is a fault."""
NEVER_RAN = ("StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError")
KILLED = (137, 143)
"""SIGKILL, SIGTERM: what the end of the Job's deadline looks like."""

_BY_EXIT_CODE = {code: reason for reason, code in EXIT_CODES.items()}


class Grade(IntEnum):
    """How much a piece of evidence is worth."""

    CIRCUMSTANCE = 1
    """The container has not run."""
    SILENT_END = 2
    """It ran, and did not say why it ended."""
    EXIT_CODE = 3
    REASON = 4
    """A report that says why there is none of memory."""
    REPORT = 5


@dataclass(frozen=True, slots=True)
class _Evidence:
    grade: Grade
    state: Probed | ProbeFailed
    final: bool = False
    """Nothing that the Job may still do will change it."""


def verdict(job: JobView, pods: Sequence[ProbePodView], *, settled: bool) -> ProbeState:
    """The state of the probe. `settled`: what is known of the pods has had time to catch up with the Job's end."""
    newest_first = sorted(pods, key=lambda pod: (pod.created, pod.name), reverse=True)
    found = [evidence for pod in newest_first if (evidence := _evidence(pod, job.end)) is not None]
    best = max(found, key=lambda evidence: evidence.grade, default=None)
    if best is not None and best.final:
        return best.state
    if job.end is None:
        return Probing(job.created, _waiting(newest_first))
    if best is not None and (settled or best.grade >= Grade.EXIT_CODE):
        return best.state
    if not settled:
        return Probing(job.created, "the Job has ended, the answer of its pod is on its way")
    return _nothing_left(job, job.end)


def _evidence(pod: ProbePodView, end: JobEnd | None) -> _Evidence | None:
    if pod.end is not None:
        return _ended(pod.end, end)
    at = end.at if end is not None else EPOCH
    if pod.running and end is not None:
        return _Evidence(Grade.SILENT_END, ProbeFailed(ProbeReason.TIMEOUT, _no_answer(end), at))
    why = _hindrance(pod)
    if why:
        return _Evidence(Grade.CIRCUMSTANCE, ProbeFailed(ProbeReason.NOT_STARTED, why, at))
    return None


def _ended(ended: ContainerEnd, job: JobEnd | None) -> _Evidence:
    code, at = ended.exit_code, ended.at
    final = code == 0 or code >= FIRST_FINAL_EXIT_CODE
    try:
        report = report_in(ended.message)
    except ReportError as error:
        return _without_report(ended, job, str(error))
    if report.error is None:
        return _Evidence(Grade.REPORT, Probed(report, at), final)
    return _Evidence(Grade.REASON, ProbeFailed(report.error, _told(report), at), final)


def report_in(message: str) -> ProbeReport:
    """The report, or the one in the last line where the kubelet had to fall back to the log. Raises ReportError."""
    last = message.strip().rpartition("\n")[2]
    with contextlib.suppress(ReportError):
        return probe_report.parse(last)
    return probe_report.parse(message)


def _without_report(ended: ContainerEnd, job: JobEnd | None, why: str) -> _Evidence:
    code, at, said = ended.exit_code, ended.at, quoted(ended.message)
    if ended.reason in NEVER_RAN:
        text = f"the probe's container could not be started ({ended.reason}: {said})"
        return _Evidence(Grade.CIRCUMSTANCE, ProbeFailed(ProbeReason.NOT_STARTED, text, at))
    if code == 0:
        text = f"the probe's report cannot be read: {why}" + (f"; it begins {said!r}" if said else "")
        return _Evidence(Grade.EXIT_CODE, ProbeFailed(ProbeReason.BAD_REPORT, text, at), final=True)
    if code in KILLED and job is not None and job.reason == "DeadlineExceeded":
        return _Evidence(Grade.SILENT_END, ProbeFailed(ProbeReason.TIMEOUT, _no_answer(job), at))
    reason = _BY_EXIT_CODE.get(code, ProbeReason.UNEXPECTED)
    text = f"the probe ended with exit code {code}" + (f" ({ended.reason})" if ended.reason else "") + f": {said}"
    known = reason is not ProbeReason.UNEXPECTED
    return _Evidence(
        Grade.EXIT_CODE if known else Grade.SILENT_END,
        ProbeFailed(reason, text, at),
        final=known and code >= FIRST_FINAL_EXIT_CODE,
    )


def _waiting(newest_first: Sequence[ProbePodView]) -> str:
    """What holds the probe up: of the newest pod, or else how the last try ended."""
    if not newest_first:
        return ""
    pod = newest_first[0]
    evidence = _evidence(pod, None)
    if pod.end is not None and evidence is not None and isinstance(evidence.state, ProbeFailed):
        return f"the last try ended with {evidence.state.reason.value}: {evidence.state.message}"
    return _hindrance(pod)


def _hindrance(pod: ProbePodView) -> str:
    if pod.waiting_reason not in CREATING:
        return f"{pod.waiting_reason}: {quoted(pod.waiting_message)}"
    if pod.failed:
        return f"the node refused the probe's pod ({pod.reason or 'no reason given'}: {quoted(pod.message)})"
    if pod.unschedulable:
        return f"Unschedulable: {quoted(pod.unschedulable)}"
    return ""


def _nothing_left(job: JobView, end: JobEnd) -> ProbeFailed:
    if end.complete:
        text = f"Job {job.name} is complete, but its pod was removed before its report was read"
        return ProbeFailed(ProbeReason.BAD_REPORT, text, end.at)
    text = (
        f"Job {job.name} ended ({end.reason}: {quoted(end.message)}) and no pod is left to say why; look at the Job's "
        "events: a missing RuntimeClass, a quota, or the namespace's Pod Security level may have refused it"
    )
    return ProbeFailed(ProbeReason.NOT_STARTED, text, end.at)


def _told(report: ProbeReport) -> str:
    return quoted(report.message) if report.message else "the probe said no more than the reason"


def _no_answer(end: JobEnd) -> str:
    return f"the probe ran and gave no answer in its time ({end.reason}: {quoted(end.message)})"
