"""kube/verify_views: how far a pod came, on the JSON that a cluster serves, and which Job is the next to look at."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from reconciler.kube import verify_views
from reconciler.kube.news import Seen, Vanished
from reconciler.kube.probe_cache import NO_TRACE, SETTLE
from reconciler.kube.probe_views import JobView, ProbePodView
from reconciler.kube.verify_job import job_name
from reconciler.kube.verify_views import Turn, VerifyCache
from reconciler.model.probe_report import ProbeReason, ProbeReport
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
from tests.kube.test_probe_verdict import (
    BACKOFF,
    COMPLETE,
    DEADLINE,
    NO_END,
    REFUSED,
    RUNS,
    T4,
    a_job,
    a_node,
    a_pod,
    complain,
    ended,
    unschedulable,
    waits,
)

NO_LIBRARY = ProbeReport(error=ProbeReason.LIBRARY_NOT_FOUND, message="no library")
SCHEDULED = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
NAMES = [job_name("u1", "b1", serial) for serial in range(3)]


class Watched:
    """A cache with a clock of its own, fed as the watches would."""

    def __init__(self) -> None:
        self.now = 0.0
        self.heard: list[str] = []
        self.cache = VerifyCache(self.heard.append, time=lambda: self.now)

    def see(self, *views: JobView | ProbePodView) -> None:
        for view in views:
            if isinstance(view, JobView):
                self.cache.jobs.take(Seen(view.name, view))
            else:
                self.cache.pods.take(Seen(view.name, view))

    def trial(self, name: str = "") -> Trial | None:
        return self.cache.trial(a_node("b1", "u1"), name)


@dataclass(frozen=True)
class Case:
    name: str
    end: tuple[str, str, str]
    pods: list[dict[str, Any]]
    """Of one pod, one after the other."""
    reached: Reached
    over: bool = False
    """Whether more may come, in the moment of the Job's end."""
    late: bool = False


CASES = [
    Case("no pod", NO_END, [], NoPod()),
    Case("no pod, for good", BACKOFF, [], NoPod(f"{BACKOFF[1]}: {BACKOFF[2]}")),
    Case("not looked at", NO_END, [{"phase": "Pending"}], Unscheduled()),
    Case(
        "no place", NO_END, [unschedulable("Insufficient nvidia.com/gpu")], Unscheduled("Insufficient nvidia.com/gpu")
    ),
    Case("no place in time", DEADLINE, [unschedulable("full")], Unscheduled("full"), late=True),
    Case("bound", NO_END, [SCHEDULED], Bound()),
    Case("creating", NO_END, [waits("ContainerCreating")], Bound("ContainerCreating")),
    Case("refused", BACKOFF, [REFUSED], Refused("OutOfcpu", "Node didn't have enough resource: cpu"), over=True),
    Case("image", NO_END, [waits("ErrImagePull", "404")], NoImage("ErrImagePull", "404")),
    Case("runtime", NO_END, [waits("CreateContainerError", "nvml")], NotStarted("CreateContainerError", "nvml")),
    Case("never ran", BACKOFF, [ended(128, "nvml", "StartError")], NotStarted("StartError", "nvml")),
    Case("runs", NO_END, [RUNS], Running()),
    Case("ran into the deadline", DEADLINE, [RUNS, ended(137, "")], Running(), late=True),
    Case(
        "killed otherwise",
        BACKOFF,
        [ended(137, "", "OOMKilled")],
        Died(137, "OOMKilled"),
        over=True,
    ),
    Case("died", BACKOFF, [ended(1, "Traceback\n  boom")], Died(1, "Error: Traceback boom"), over=True),
    Case("answered", COMPLETE, [ended(0, T4.to_json())], Answered(T4), over=True),
    Case("answered with a reason", BACKOFF, [ended(10, NO_LIBRARY.to_json())], Answered(NO_LIBRARY), over=True),
    Case("answered in its log", BACKOFF, [ended(1, f"a line\n{T4.to_json()}")], Answered(T4), over=True),
    Case("answered, Job to come", NO_END, [ended(0, T4.to_json())], Answered(T4)),
    # As a real kubelet ends a pod that could not start, when the Job's deadline removes it.
    Case(
        "a fault written over",
        DEADLINE,
        [waits("ImagePullBackOff", "404"), waits("ContainerCreating"), ended(137, "gone", NO_TRACE)],
        NoImage("ImagePullBackOff", "404"),
        late=True,
    ),
    Case("a fault mended", NO_END, [waits("ErrImagePull", "404"), RUNS], Running()),
    Case(
        "mended, then lost",
        BACKOFF,
        [waits("ErrImagePull"), RUNS, ended(137, "gone", NO_TRACE)],
        Died(137, f"{NO_TRACE}: gone"),
        over=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_cluster_shows_comes_to(case: Case) -> None:
    watched = Watched()
    for status in case.pods:
        watched.see(a_pod("p", 0, **status))
    watched.see(a_job(*case.end))
    found = watched.trial()
    assert found is not None
    assert (found.reached, found.ended is not None, found.late) == (case.reached, case.over, case.late)

    watched.now += SETTLE
    later = watched.trial()
    assert later is not None
    assert (later.ended is not None) is bool(case.end[0]), "after a while no more words of pods are on their way"


def test_a_pod_that_was_evicted_and_replaced_counts_no_more_unless_it_had_answered() -> None:
    watched = Watched()
    watched.see(a_job(), a_pod("old", 0, **ended(137, "")), a_pod("new", 5, **SCHEDULED))
    assert watched.trial() == Trial("gpu-probe-1", Bound())
    watched.see(a_pod("old", 0, **ended(0, T4.to_json())))
    assert watched.trial() == Trial("gpu-probe-1", Answered(T4))


def test_a_job_under_way_is_joined_and_one_that_ended_is_never_taken_for_the_next() -> None:
    watched, node = Watched(), a_node("b1", "u1")
    assert watched.cache.turn(node) == Turn(NAMES[0], 0, under_way=False)
    watched.see(a_job(name=NAMES[0], uid="j0"))
    assert watched.cache.turn(node) == Turn(NAMES[0], 0, under_way=True)
    watched.see(a_job(*COMPLETE, name=NAMES[0], uid="j0"))
    assert watched.cache.turn(node) == Turn(NAMES[1], 1, under_way=False)
    watched.see(a_job(*COMPLETE, name=NAMES[1], uid="j1"))
    watched.cache.jobs.take(Vanished(NAMES[0]))
    assert watched.cache.turn(node) == Turn(NAMES[0], 0, under_way=False), "its TTL has taken it"
    assert watched.cache.turn(a_node("b2", "u1")).serial == 0


def test_a_job_can_be_asked_for_by_its_name_where_another_is_newer() -> None:
    watched = Watched()
    first = a_job(*COMPLETE, name=NAMES[0], uid="j0")
    watched.see(first, replace(a_job(name=NAMES[1], uid="j1"), created=first.created.replace(minute=30)))
    newest, named = watched.trial(), watched.trial(NAMES[0])
    assert newest is not None
    assert named is not None
    assert (newest.job, named.job) == (NAMES[1], NAMES[0])
    assert watched.trial("another") is None


def test_the_watches_ask_for_verifications_alone() -> None:
    for source in (verify_views.jobs(lambda trouble: complain(trouble.why), "gpu"), verify_views.pods(print, "gpu")):
        assert source.selectors == {"labelSelector": "gpu-reconciler.io/probe=verify"}
        assert "/namespaces/gpu/" in source.path
