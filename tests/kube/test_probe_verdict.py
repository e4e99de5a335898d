"""kube/probe_verdict and probe_cache: what a Job and its pods come to, on the JSON that a cluster serves."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reconciler.kube import sources
from reconciler.kube.news import Seen, Synced, Vanished
from reconciler.kube.probe_cache import SETTLE, ProbeCache
from reconciler.kube.probe_verdict import verdict
from reconciler.kube.probe_views import JobView, JobWire, ProbePodView, ProbePodWire, job, probe_pod
from reconciler.kube.trouble import Trouble
from reconciler.model.node import NodeKey, NodeName, NodeView
from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport
from reconciler.model.probe_state import NotProbed, Probed, ProbeFailed, ProbeState, Probing

T4 = ProbeReport("580.1", "13.580.1", (GpuReading(0, "Tesla T4", "GPU-1", 16_106_127_360, 481_296_384),))
LOST = ProbeReport("580.1", "13.580.1", error=ProbeReason.GPU_LOST, message="GPU 0000:00:1e.0 is lost")
LOADING = ProbeReport(error=ProbeReason.DRIVER_NOT_LOADED, message="the driver is not loaded")

NOTES = {
    "gpu-reconciler.io/node": "n1",
    "gpu-reconciler.io/node-uid": "u1",
    "gpu-reconciler.io/boot-id": "b1",
}


def a_job(end: str = "", reason: str = "", message: str = "", *, name: str = "gpu-probe-1", uid: str = "j1") -> JobView:
    conditions = [
        {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2026-03-01T12:01:59Z"},
        {
            "type": end,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-03-01T12:02:00Z",
        },
    ]
    meta = {"name": name, "uid": uid, "creationTimestamp": "2026-03-01T12:00:00Z", "annotations": NOTES}
    data = {"metadata": meta, "status": {"conditions": conditions if end else None}}
    return job(msgspec.json.decode(json.dumps(data), type=JobWire), complain)


def a_pod(name: str, at: int, **status: Any) -> ProbePodView:
    meta = {
        "name": name,
        "creationTimestamp": f"2026-03-01T12:00:{at:02}Z",
        "annotations": NOTES,
        "ownerReferences": [{"kind": "Job", "uid": "j1", "name": "gpu-probe-1"}],
    }
    data = {"metadata": meta, "status": status}
    return probe_pod(msgspec.json.decode(json.dumps(data), type=ProbePodWire), complain)


def complain(why: str) -> None:
    raise AssertionError(why)


def ended(code: int, message: str = "", reason: str = "") -> dict[str, Any]:
    reason = reason or ("Completed" if code == 0 else "Error")
    state = {"exitCode": code, "message": message, "reason": reason, "finishedAt": "2026-03-01T12:01:00Z"}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"state": {"terminated": state}}]}


def waits(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"state": state}]}


def unschedulable(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


RUNS = {"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": "2026-03-01T12:00:01Z"}}}]}
REFUSED = {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"}

COMPLETE = ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
DEADLINE = ("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
BACKOFF = ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
POLICY = ("Failed", "PodFailurePolicy", "Container probe for pod x failed with exit code 21 matching FailJob rule")
NO_END = ("", "", "")


@dataclass(frozen=True)
class Case:
    """One line of the table: what the cluster shows, and what it comes to."""

    name: str
    end: tuple[str, str, str]
    pods: list[dict[str, Any]]
    reason: ProbeReason | str
    """`probed`, `probing`, or the reason of the failure."""
    says: str = ""


CASES = [
    Case("no pod yet", NO_END, [], "probing"),
    Case("creating", NO_END, [waits("ContainerCreating")], "probing"),
    Case("running", NO_END, [RUNS], "probing"),
    Case("image", NO_END, [waits("ImagePullBackOff", "Back-off pulling image x")], "probing", "ImagePullBackOff: Back"),
    Case("runtime", NO_END, [waits("CreateContainerError", "no NVML")], "probing", "CreateContainerError: no NVML"),
    Case("no room", NO_END, [unschedulable("Insufficient cpu")], "probing", "Unschedulable: Insufficient cpu"),
    Case("report before the Job's end", NO_END, [ended(0, T4.to_json())], "probed"),
    Case("final before the Job's end", NO_END, [ended(21, LOST.to_json())], ProbeReason.GPU_LOST, "is lost"),
    Case("retry", NO_END, [ended(11, LOADING.to_json())], "probing", "last try ended with DriverNotLoaded"),
    Case("second try runs", NO_END, [ended(11, LOADING.to_json()), RUNS], "probing"),
    Case("second try answers", NO_END, [ended(11, LOADING.to_json()), ended(0, T4.to_json())], "probed"),
    Case("complete", COMPLETE, [ended(0, T4.to_json())], "probed"),
    Case("retries used up", BACKOFF, [ended(11, LOADING.to_json())] * 4, ProbeReason.DRIVER_NOT_LOADED, "not loaded"),
    Case("policy", POLICY, [ended(21, LOST.to_json())], ProbeReason.GPU_LOST, "is lost"),
    Case("code alone", POLICY, [ended(21, "")], ProbeReason.GPU_LOST, "exit code 21 (Error)"),
    Case("code and log", POLICY, [ended(22, "Traceback ...")], ProbeReason.NO_PERMISSION, "Traceback"),
    Case("report at the log's end", BACKOFF, [ended(1, f"warning: x\n{T4.to_json()}\n")], "probed"),
    Case("unknown code", BACKOFF, [ended(77, "boom")], ProbeReason.UNEXPECTED, "exit code 77 (Error): boom"),
    Case("out of memory", BACKOFF, [ended(137, "", "OOMKilled")], ProbeReason.UNEXPECTED, "137 (OOMKilled)"),
    Case("empty", COMPLETE, [ended(0, "")], ProbeReason.BAD_REPORT, "the report is empty"),
    Case("cut off", COMPLETE, [ended(0, T4.to_json()[:50])], ProbeReason.BAD_REPORT, "not JSON"),
    Case("not UTF-8", COMPLETE, [ended(0, "\ufffd\ufffd{")], ProbeReason.BAD_REPORT, "not JSON"),
    Case("oversized", COMPLETE, [ended(0, '{"x":"' + "y" * 5000 + '"}')], ProbeReason.BAD_REPORT, "4096 bytes"),
    Case("future", COMPLETE, [ended(0, T4.to_json().replace("/v1", "/v9"))], ProbeReason.BAD_REPORT, "same version"),
    Case(
        "odd field",
        COMPLETE,
        [ended(0, T4.to_json().replace("16106127360", '"x"'))],
        ProbeReason.BAD_REPORT,
        "gpus[0].total",
    ),
    Case(
        "never an image", DEADLINE, [waits("ErrImagePull", "not found")], ProbeReason.NOT_STARTED, "ErrImagePull: not"
    ),
    Case(
        "never created",
        DEADLINE,
        [waits("CreateContainerConfigError", "runAsNonRoot")],
        ProbeReason.NOT_STARTED,
        "runAs",
    ),
    Case("never scheduled", DEADLINE, [unschedulable("0/1 nodes")], ProbeReason.NOT_STARTED, "Unschedulable: 0/1"),
    Case(
        "start error", BACKOFF, [ended(128, "exec: no", "StartError")] * 2, ProbeReason.NOT_STARTED, "StartError: exec"
    ),
    Case("refused", BACKOFF, [REFUSED], ProbeReason.NOT_STARTED, "OutOfcpu: Node didn't"),
    Case("still running", DEADLINE, [RUNS], ProbeReason.TIMEOUT, "no answer in its time"),
    Case("killed at the deadline", DEADLINE, [ended(137)], ProbeReason.TIMEOUT, "no answer in its time"),
    Case("no pod at all", DEADLINE, [], ProbeReason.NOT_STARTED, "a missing RuntimeClass"),
    Case("pod removed", COMPLETE, [], ProbeReason.BAD_REPORT, "removed before its report was read"),
    Case(
        "a reason beats a later hindrance",
        DEADLINE,
        [ended(11, LOADING.to_json()), waits("ImagePullBackOff")],
        ProbeReason.DRIVER_NOT_LOADED,
    ),
    Case(
        "the newest reason of two",
        BACKOFF,
        [ended(11, LOADING.to_json()), ended(12, "")],
        ProbeReason.DRIVER_NOT_LOADED,
    ),
    Case("a report beats all", BACKOFF, [ended(1, T4.to_json()), ended(1, "")], "probed"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_cluster_shows_comes_to(case: Case) -> None:
    pods = [a_pod(f"p{number}", number, **status) for number, status in enumerate(case.pods)]

    state = verdict(a_job(*case.end), pods, settled=True)

    assert (word(state), case.says in text(state)) == (case.reason, True), state


def word(state: ProbeState) -> ProbeReason | str:
    match state:
        case Probed(report):
            assert report == T4
            return "probed"
        case ProbeFailed(reason):
            return reason
        case Probing():
            return "probing"
        case NotProbed():
            return "not probed"


def text(state: ProbeState) -> str:
    match state:
        case ProbeFailed(_, message):
            return message
        case Probing(_, waiting):
            return waiting
        case _:
            return ""


def test_the_time_of_an_answer_is_the_containers_end_before_and_after_the_jobs() -> None:
    """Else the same finding would look new, and be written again."""
    pod = a_pod("p", 1, **ended(0, T4.to_json()))
    early, late = verdict(a_job(), [pod], settled=False), verdict(a_job(*COMPLETE), [pod], settled=True)

    assert early == late == Probed(T4, datetime(2026, 3, 1, 12, 1, tzinfo=UTC))


@pytest.mark.parametrize("end", [COMPLETE, DEADLINE, BACKOFF])
def test_a_job_that_ended_waits_for_the_word_of_its_pods(end: tuple[str, str, str]) -> None:
    """Jobs and pods come by two watches, and either may be ahead."""
    for pods in ([], [a_pod("p", 1, **waits("ContainerCreating"))]):
        assert isinstance(verdict(a_job(*end), pods, settled=False), Probing)


def test_long_texts_of_others_are_cut() -> None:
    state = verdict(a_job(*DEADLINE), [a_pod("p", 1, **waits("ErrImagePull", "x" * 5000))], settled=True)

    assert len(text(state)) < 400


class Cached:
    """A probe cache with its own clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.changed: list[str] = []
        self.cache = ProbeCache(self.changed.append, time=lambda: self.time)

    def see(self, *views: JobView | ProbePodView) -> None:
        for view in views:
            if isinstance(view, JobView):
                self.cache.jobs.take(Seen(view.name, view))
            else:
                self.cache.pods.take(Seen(view.name, view))

    def state(self, boot: str = "b1", uid: str = "u1") -> ProbeState:
        return self.cache.state(a_node(boot, uid))


def a_node(boot: str, uid: str) -> NodeView:
    key = NodeKey(NodeName("n1"), uid)
    return NodeView(key, None, boot, True, datetime(2026, 1, 1, tzinfo=UTC), {}, (), {}, {})


def test_a_job_is_of_one_node_and_one_boot() -> None:
    cached = Cached()
    cached.see(a_job())

    assert isinstance(cached.state(), Probing)
    assert cached.state(boot="b2") == NotProbed()
    assert cached.state(uid="u2") == NotProbed()


def test_pods_may_come_before_their_job() -> None:
    cached = Cached()
    cached.see(a_pod("p", 1, **ended(0, T4.to_json())), a_job())

    assert word(cached.state()) == "probed"
    assert cached.changed == ["n1", "n1"]


def test_a_pod_that_the_deadline_removed_is_still_evidence() -> None:
    """The Job controller deletes the pods of a Job that ran out of time."""
    cached = Cached()
    cached.see(a_job(), a_pod("p", 1, **waits("ImagePullBackOff", "Back-off")))
    cached.cache.pods.take(Vanished("p"))
    cached.see(a_job(*DEADLINE))
    cached.time += SETTLE

    assert text(cached.state()) == "ImagePullBackOff: Back-off"


def test_nothing_is_kept_of_a_job_that_is_gone() -> None:
    cached = Cached()
    cached.see(a_job(*DEADLINE), a_pod("p", 1, **RUNS))
    cached.cache.jobs.take(Synced(set()))
    assert cached.state() == NotProbed()

    cached.cache.pods.take(Vanished("p"))
    cached.see(a_job(*DEADLINE))
    cached.time += SETTLE
    assert "no pod is left" in text(cached.state()), "a pod of the earlier Job is no evidence on this one"


def test_without_word_from_its_pods_an_ended_job_is_judged_after_a_while() -> None:
    cached = Cached()
    cached.see(a_job(*COMPLETE))
    assert word(cached.state()) == "probing"

    cached.time += SETTLE
    assert word(cached.state()) == ProbeReason.BAD_REPORT


def test_a_watch_reads_jobs_and_pods_of_one_namespace_by_their_label() -> None:
    troubles: list[Trouble] = []
    jobs, pods = sources.probe_jobs(troubles.append, "gpu"), sources.probe_pods(troubles.append, "gpu")

    assert jobs.path == "/apis/batch/v1/namespaces/gpu/jobs"
    assert pods.path == "/api/v1/namespaces/gpu/pods"
    assert jobs.selectors == pods.selectors == {"labelSelector": "gpu-reconciler.io/probe=gpu"}
