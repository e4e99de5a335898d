"""How do Jobs end?"""

import pytest

from tests.contract.world import Json, World, eventually, get, items, make, pods_path, until_gone

FAIL_ON_42 = {
    "rules": [{"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}}]
}
IGNORE_42 = {
    "rules": [{"action": "Ignore", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}}]
}


def jobs(world: World, name: str = "") -> str:
    return f"/apis/batch/v1/namespaces/{world.namespace}/jobs" + (f"/{name}" if name else "")


def job(name: str, command: str, **spec: object) -> Json:
    container = {"name": "main", "image": "example.com/probe:1", "command": ["sh", "-c", command]}
    template = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}}
    return {"metadata": {"name": name}, "spec": {**spec, "template": template}}


def pods_of(world: World, name: str) -> list[Json]:
    """A job's pods, oldest first."""
    found = items(world, pods_path(world), labelSelector=f"batch.kubernetes.io/job-name={name}")
    return sorted(found, key=lambda each: str(each["metadata"]["creationTimestamp"]))


def conditions(world: World, name: str) -> dict[str, tuple[str, str]]:
    status = get(world, jobs(world, name)).get("status", {})
    return {each["type"]: (each["reason"], each["message"]) for each in status.get("conditions", [])}


@pytest.mark.parametrize(
    ("command", "spec", "end", "reason", "message"),
    [
        ("exit 0", {}, "Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
        (
            "exit 3",
            {"backoffLimit": 0},
            "Failed",
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        ),
        (
            "sleep 60",
            {"activeDeadlineSeconds": 3},
            "Failed",
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        ),
        (
            "exit 42",
            {"backoffLimit": 3, "podFailurePolicy": FAIL_ON_42},
            "Failed",
            "PodFailurePolicy",
            "failed with exit code 42 matching FailJob rule at index 0",
        ),
    ],
)
def test_a_job_ends_with_a_reason(command: str, spec: Json, end: str, reason: str, message: str, world: World) -> None:
    """And its counts say how many pods it took."""
    world.kubelet()
    make(world, jobs(world), job("j", command, **spec))
    eventually(world, lambda: end in conditions(world, "j"), f"the job is {end}", 40)
    assert conditions(world, "j")[end][0] == reason
    assert message in conditions(world, "j")[end][1]
    status = get(world, jobs(world, "j"))["status"]
    assert not status.get("active")
    assert (status.get("succeeded", 0), status.get("failed", 0)) == ((1, 0) if end == "Complete" else (0, 1))


def test_a_failed_pod_has_its_exit_code_and_is_followed_by_another_after_ten_seconds(world: World) -> None:
    world.kubelet()
    make(world, jobs(world), job("j", "exit 3", backoffLimit=5))
    eventually(world, lambda: [each["status"]["phase"] for each in pods_of(world, "j")] == ["Failed"], "it fails")
    ended = pods_of(world, "j")[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    world.pause(5)
    assert len(pods_of(world, "j")) == 1
    eventually(world, lambda: len(pods_of(world, "j")) == 2, "the second comes", 15)


def test_an_ignored_failure_does_not_count(world: World) -> None:
    """With a backoff limit of 0 the next pod still comes."""
    world.kubelet()
    make(world, jobs(world), job("j", "exit 42", backoffLimit=0, podFailurePolicy=IGNORE_42))
    selector = "batch.kubernetes.io/job-name=j"
    eventually(
        world, lambda: len(get(world, pods_path(world), labelSelector=selector)["items"]) == 2, "another comes", 40
    )
    assert "Failed" not in conditions(world, "j")


def test_a_finished_job_and_its_pods_go_when_their_time_is_over(world: World) -> None:
    world.kubelet()
    made = make(world, jobs(world), job("j", "exit 0", ttlSecondsAfterFinished=2))
    eventually(world, lambda: pods_of(world, "j"), "its pod comes")
    owner = pods_of(world, "j")[0]["metadata"]["ownerReferences"][0]
    assert owner == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "j",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    until_gone(world, jobs(world, "j"))
    eventually(world, lambda: not pods_of(world, "j"), "its pods are gone")


@pytest.mark.parametrize(
    ("name", "restart", "message"),
    [
        ("j", None, 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
        ("j", "Always", 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
        ("j", "Nope", 'spec.template.spec.restartPolicy: Unsupported value: "Nope"'),
        ("j" * 64, "Never", "must be no more than 63 bytes"),
    ],
)
def test_a_job_that_cannot_work_is_refused(name: str, restart: str | None, message: str, world: World) -> None:
    """A Job's name becomes a label of its pods, so 63 characters are all it may have."""
    body = job(name, "exit 0")
    body["spec"]["template"]["spec"]["restartPolicy"] = restart
    answer = world.request("POST", jobs(world), body)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert message in answer.body["message"]


@pytest.mark.parametrize(("options", "left"), [(None, 1), ({"propagationPolicy": "Background"}, 0)])
def test_deleting_a_job_leaves_its_pods_unless_told_otherwise(options: Json | None, left: int, world: World) -> None:
    """batch/v1 orphans by default."""
    make(world, jobs(world), job("j", "sleep 60"))
    eventually(world, lambda: pods_of(world, "j"), "its pod comes")
    world.request("DELETE", jobs(world, "j"), options)
    until_gone(world, jobs(world, "j"))
    eventually(world, lambda: len(pods_of(world, "j")) == left, f"{left} pods are left")
