"""How far did a verify Job's pod come? Jobs and pods of one label, put together when asked."""

import itertools
from dataclasses import dataclass

from reconciler.kube import probe_views
from reconciler.kube.probe_cache import Newest, ProbeCache
from reconciler.kube.probe_verdict import CREATING, KILLED, NEVER_RAN, report_in
from reconciler.kube.probe_views import ContainerEnd, JobView, JobWire, ProbePodView, ProbePodWire
from reconciler.kube.reader import Reader, by_name
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Report
from reconciler.kube.verify_job import VERIFY_LABEL_VALUE, job_name
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.probe_report import ReportError
from reconciler.model.trial import (
    Answered,
    Bound,
    Died,
    NoImage,
    NoPod,
    NotStarted,
    Reached,
    Refused,
    Running,
    Trial,
    Unscheduled,
)

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
"""Waiting reasons that speak of the image (kubelet, pkg/kubelet/images/types.go)."""

_FINAL = (Answered, Died, Refused)
"""Where a pod cannot come any further."""

_OURS = {"labelSelector": f"{names.LABEL_PROBE}={VERIFY_LABEL_VALUE}"}


def jobs(report: Report, namespace: str) -> Source[JobView]:
    reader = Reader("Job", JobWire, probe_views.job, by_name, report)
    return Source(f"/apis/batch/v1/namespaces/{namespace}/jobs", reader, _OURS)


def pods(report: Report, namespace: str) -> Source[ProbePodView]:
    reader = Reader("Pod", ProbePodWire, probe_views.probe_pod, by_name, report)
    return Source(f"/api/v1/namespaces/{namespace}/pods", reader, _OURS)


@dataclass(frozen=True, slots=True)
class Turn:
    job: str
    serial: int
    under_way: bool


class VerifyCache(ProbeCache):
    """Sinks are `jobs.take` and `pods.take`, as of a ProbeCache; the Jobs are those that verify."""

    def trial(self, node: NodeView, name: str = "") -> Trial | None:
        """The newest verify Job of this very node and boot, or the one of that name."""
        newest = self.newest(node, name)
        return None if newest is None else trial(newest)

    def turn(self, node: NodeView) -> Turn:
        """The Job to look at next: the one that is under way, else a new one, never named as one that has ended."""
        known = {job.name: job for job in self.of_boot(node)}
        for serial in itertools.count():
            name = job_name(node.key.uid, node.boot_id, serial)
            if name not in known:
                return Turn(name, serial, under_way=False)
            if known[name].end is None:
                return Turn(name, serial, under_way=True)
        raise AssertionError("not reached")


def trial(newest: Newest) -> Trial:
    """What the Job and its pods come to. An answer counts whatever came after; else the newest pod tells."""
    end = newest.job.end
    late = end is not None and end.reason == "DeadlineExceeded"
    newest_first = sorted(newest.pods, key=lambda pod: (pod.created, pod.name), reverse=True)
    found = [_reached(pod, late=late) for pod in newest_first]
    why = f"{end.reason}: {end.message}" if end is not None and not end.complete else ""
    reached = next((one for one in found if isinstance(one, Answered)), found[0] if found else NoPod(why))
    over = end is not None and (newest.settled or isinstance(reached, _FINAL))
    return Trial(newest.job.name, reached, end.at if end is not None and over else None, late)


def _reached(pod: ProbePodView, *, late: bool) -> Reached:
    if pod.end is not None:
        return _ended(pod.end, late=late)
    if pod.failed:
        return Refused(pod.reason, pod.message)
    if pod.running:
        return Running()
    if pod.waiting_reason in _IMAGE:
        return NoImage(pod.waiting_reason, pod.waiting_message)
    if pod.waiting_reason not in CREATING:
        return NotStarted(pod.waiting_reason, pod.waiting_message)
    if pod.waiting_reason or pod.scheduled:
        return Bound(pod.waiting_reason)
    return Unscheduled(pod.unschedulable)


def _ended(ended: ContainerEnd, *, late: bool) -> Reached:
    if ended.reason in NEVER_RAN:
        return NotStarted(ended.reason, ended.message)
    try:
        return Answered(report_in(ended.message))
    except ReportError as error:
        if late and ended.exit_code in KILLED:
            return Running()
        said = " ".join(ended.message.split())
        why = f"{ended.reason}: {said}" if said else ended.reason if ended.exit_code else str(error)
        return Died(ended.exit_code, why)
