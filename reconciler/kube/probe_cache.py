"""How far is the probe of each node's present boot? Jobs and pods, put together when asked."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import anyio

from reconciler.kube.cache import Mirror
from reconciler.kube.probe_verdict import CREATING, verdict
from reconciler.kube.probe_views import JobView, ProbePodView
from reconciler.model.node import NodeName, NodeView
from reconciler.model.probe_state import NotProbed, ProbeState

SETTLE = 15.0
"""Seconds. Jobs and pods come by two watches; a Job's end may overtake the last word of its pod by so much."""


NO_TRACE = "ContainerStatusUnknown"
"""What the kubelet calls a container that it cannot find when its pod ends (pkg/kubelet/kubelet_pods.go), code 137."""


@dataclass(frozen=True, slots=True)
class Newest:
    """A Job and its pods, those that are gone as they were last seen."""

    job: JobView
    pods: tuple[ProbePodView, ...]
    settled: bool
    """The Job's end is old enough: no more words of its pods are on their way."""


class ProbeCache:
    """Sinks are `jobs.take` and `pods.take`. A pod's last view is kept as long as its Job is there.

    The Job controller deletes the pods of a Job whose deadline has passed, and with them the reason why they never
    started; so a removed pod is still evidence.
    """

    def __init__(
        self,
        changed: Callable[[NodeName], None] = lambda name: None,
        *,
        time: Callable[[], float] = anyio.current_time,
    ) -> None:
        self.jobs: Mirror[JobView] = Mirror()
        self.pods: Mirror[ProbePodView] = Mirror()
        self.jobs.on_change(self._job_changed)
        self.pods.on_change(self._pod_changed)
        self._changed = changed
        self._time = time
        self._by_boot: dict[tuple[str, str], dict[str, JobView]] = {}
        self._evidence: dict[str, dict[str, ProbePodView]] = {}
        self._ended: dict[str, float] = {}

    def state(self, node: NodeView) -> ProbeState:
        """What the newest Job of this very node and boot tells."""
        newest = self.newest(node)
        return NotProbed() if newest is None else verdict(newest.job, newest.pods, settled=newest.settled)

    def newest(self, node: NodeView, name: str = "") -> Newest | None:
        """The newest Job of this very node and boot, or the one of that name, with all that is known of its pods."""
        jobs = [job for job in self.of_boot(node) if name in ("", job.name)]
        if not jobs:
            return None
        job = max(jobs, key=lambda job: (job.created, job.name))
        pods = tuple(self._evidence.get(job.uid, {}).values())
        ended = self._ended.get(job.uid)
        return Newest(job, pods, settled=ended is not None and self._time() - ended >= SETTLE)

    def of_boot(self, node: NodeView) -> Collection[JobView]:
        """All Jobs of this very node and boot."""
        return self._by_boot.get((node.key.uid, node.boot_id), {}).values()

    def _job_changed(self, before: JobView | None, after: JobView | None) -> None:
        if before is not None:
            boot = (before.node_uid, before.boot_id)
            jobs = self._by_boot.get(boot, {})
            jobs.pop(before.uid, None)
            if not jobs:
                self._by_boot.pop(boot, None)
        if before is not None and (after is None or after.uid != before.uid):
            self._evidence.pop(before.uid, None)
            self._ended.pop(before.uid, None)
        if after is not None:
            self._by_boot.setdefault((after.node_uid, after.boot_id), {})[after.uid] = after
            if after.end is not None:
                self._ended.setdefault(after.uid, self._time())
        job = after if after is not None else before
        if job is not None:
            self._changed(job.node)

    def _pod_changed(self, before: ProbePodView | None, after: ProbePodView | None) -> None:
        pod = after if after is not None else before
        if pod is None:
            return
        if after is not None:
            known = self._evidence.setdefault(after.job_uid, {})
            known[after.name] = _telling(known.get(after.name), after)
        elif not any(job.uid == pod.job_uid for job in self.jobs.views()):
            self._evidence.pop(pod.job_uid, None)
        self._changed(pod.node)


def _telling(before: ProbePodView | None, after: ProbePodView) -> ProbePodView:
    """What to keep of a pod. One that ends before its container began says less than it did while it waited.

    When the Job's deadline removes a pod that could not start, the kubelet writes ContainerCreating over the fault, and
    then an end of a container that there never was.
    """
    if before is None or before.running or before.end is not None:
        return after
    if after.end is not None:
        return before if after.end.reason == NO_TRACE else after
    forgets = before.waiting_reason not in CREATING and after.waiting_reason in CREATING and not after.running
    return before if forgets else after
