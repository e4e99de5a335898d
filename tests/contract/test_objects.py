"""What do plain reads, writes and deletions answer?"""

import pytest

from tests.contract.world import OTHER_UID, World, bare_node, eventually, get, make, patch, pod, pods_path


def maps(world: World, name: str = "") -> str:
    return f"/api/v1/namespaces/{world.namespace}/configmaps" + (f"/{name}" if name else "")


def test_what_is_created_can_be_read_and_a_second_one_is_refused(world: World) -> None:
    """201 with uid, version and time; 409 AlreadyExists for the same name."""
    made = make(world, maps(world), {"metadata": {"name": "a"}, "data": {"k": "v"}})
    assert {"uid", "resourceVersion", "creationTimestamp"} <= made["metadata"].keys()
    assert get(world, maps(world, "a")) == made
    again = world.request("POST", maps(world), {"metadata": {"name": "a"}})
    assert again.gist == (409, "AlreadyExists", 'configmaps "a" already exists')


def test_a_name_is_made_up_where_only_its_beginning_is_given(world: World) -> None:
    """generateName and five letters."""
    name = make(world, maps(world), {"metadata": {"generateName": "a-"}})["metadata"]["name"]
    assert name.startswith("a-")
    assert len(name) == 7


@pytest.mark.parametrize(
    ("body", "gist"),
    [
        ({}, (422, "Invalid", "metadata.name: Required value: name or generateName is required")),
        ({"metadata": {"name": "A_"}}, (422, "Invalid", "a lowercase RFC 1123 subdomain must consist of")),
        ({"metadata": {"name": "a", "namespace": "other"}}, (400, "BadRequest", "does not match the namespace")),
        ({"metadata": {"name": "a", "labels": {"k": "v" * 64}}}, (422, "Invalid", "must be no more than 63 bytes")),
        ({"metadata": {"name": "a", "labels": {"k": "v v"}}}, (422, "Invalid", "a valid label must be")),
        ({"metadata": {"name": "a", "labels": {"a b": "v"}}}, (422, "Invalid", "name part must consist of")),
        ({"metadata": {"name": "a", "annotations": {"a b": "v"}}}, (422, "Invalid", "name part must consist of")),
        ([1], (400, "BadRequest", "the object provided is unrecognized")),
    ],
)
def test_what_is_malformed_is_refused(body: object, gist: tuple[int, str, str], world: World) -> None:
    answer = world.request("POST", maps(world), body)
    assert (answer.status, answer.body["reason"]) == gist[:2]
    assert gist[2] in answer.body["message"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_what_is_not_there_is_a_404_that_names_it(method: str, world: World) -> None:
    answer = world.request(
        method, maps(world, "none"), {} if method == "PATCH" else None, "application/merge-patch+json"
    )
    assert answer.gist == (404, "NotFound", 'configmaps "none" not found')
    assert answer.body["details"] == {"name": "none", "kind": "configmaps"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/frobs", "the server could not find the requested resource"),
        ("/apis/apps/v1/frobs", "the server could not find the requested resource"),
        ("/apis/nobody.example/v1/frobs", "404 page not found\n"),
    ],
)
def test_a_path_that_nobody_serves_is_another_404(path: str, message: str, world: World) -> None:
    """A Status where the group is known, plain text where it is not."""
    assert world.request("GET", path).body["message"] == message


def test_a_deletion_says_what_is_gone_and_holds_its_preconditions(world: World) -> None:
    made = make(world, maps(world), {"metadata": {"name": "a"}})
    wrong = world.request("DELETE", maps(world, "a"), {"preconditions": {"uid": OTHER_UID}})
    assert (wrong.status, wrong.body["reason"]) == (409, "Conflict")
    assert f"the UID in the precondition ({OTHER_UID}) does not match the UID in record" in wrong.body["message"]
    gone = world.request("DELETE", maps(world, "a"), {"preconditions": {"uid": made["metadata"]["uid"]}})
    assert (gone.status, gone.body["status"]) == (200, "Success")
    assert gone.body["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert world.request("GET", maps(world, "a")).status == 404


def test_a_put_with_a_stale_version_or_another_uid_is_a_conflict(world: World) -> None:
    """Optimistic concurrency: 409, and nothing is written."""
    old = make(world, maps(world), {"metadata": {"name": "a"}, "data": {"k": "1"}})
    patch(world, maps(world, "a"), {"data": {"k": "2"}}, "application/merge-patch+json")
    assert world.request("PUT", maps(world, "a"), old).gist == (
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )
    stranger = {"metadata": {"name": "a", "uid": OTHER_UID}, "data": {"k": "3"}}
    answer = world.request("PUT", maps(world, "a"), stranger)
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert "Precondition failed: UID in precondition" in answer.body["message"]
    assert get(world, maps(world, "a"))["data"] == {"k": "2"}


def test_a_dry_run_answers_and_writes_nothing(world: World) -> None:
    answer = world.request("POST", maps(world), {"metadata": {"name": "a"}}, dryRun="All")
    assert answer.status == 201
    assert world.request("GET", maps(world, "a")).status == 404


def test_a_pod_without_a_node_is_gone_at_once_and_one_on_a_node_waits_for_its_kubelet(world: World) -> None:
    """Graceful deletion: a timestamp first, the object goes when the kubelet says so (grace 0)."""
    make(world, pods_path(world), pod("loose", schedulerName="nobody", terminationGracePeriodSeconds=30))
    assert world.request("DELETE", pods_path(world, "loose")).status == 200
    assert world.request("GET", pods_path(world, "loose")).status == 404
    with bare_node(world) as path:
        node = path.rpartition("/")[2]
        make(world, pods_path(world), pod("bound", nodeName=node, terminationGracePeriodSeconds=30))
        marked = world.request("DELETE", pods_path(world, "bound")).body
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        assert "deletionTimestamp" in get(world, pods_path(world, "bound"))["metadata"]
        world.request("DELETE", pods_path(world, "bound"), {"gracePeriodSeconds": 0})
        assert world.request("GET", pods_path(world, "bound")).status == 404


def test_a_finalizer_holds_a_node_until_it_is_taken_off(world: World) -> None:
    """As Karpenter's `karpenter.sh/termination` does."""
    make(world, "/api/v1/nodes", {"metadata": {"name": "held", "finalizers": ["example.com/held"]}})
    assert "deletionTimestamp" in world.request("DELETE", "/api/v1/nodes/held").body["metadata"]
    assert get(world, "/api/v1/nodes/held")
    patch(world, "/api/v1/nodes/held", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    assert world.request("GET", "/api/v1/nodes/held").status == 404


def test_a_new_node_is_tainted_until_it_is_ready(world: World) -> None:
    """By admission; the controller takes the taint off a node that does not say that it is not ready."""
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    status = {"conditions": [{"type": "Ready", "status": "False", "reason": "Bare", "message": ""}]}
    made = make(world, "/api/v1/nodes", {"metadata": {"name": "fresh"}, "status": status})
    try:
        assert made["spec"]["taints"] == [not_ready]
        world.pause(2)
        assert [each["key"] for each in get(world, "/api/v1/nodes/fresh")["spec"]["taints"]] == [not_ready["key"]]
        status["conditions"][0]["status"] = "True"
        patch(world, "/api/v1/nodes/fresh/status", {"status": status})
        eventually(world, lambda: not get(world, "/api/v1/nodes/fresh")["spec"].get("taints"), "the taint goes")
    finally:
        world.request("DELETE", "/api/v1/nodes/fresh")


def test_an_unschedulable_node_is_tainted_too(world: World) -> None:
    with bare_node(world) as path:
        patch(world, path, {"spec": {"unschedulable": True}})
        eventually(world, lambda: get(world, path)["spec"].get("taints"), "the taint comes")
        taint = get(world, path)["spec"]["taints"][0]
        assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
        patch(world, path, {"spec": {"unschedulable": None}})
        eventually(world, lambda: not get(world, path)["spec"].get("taints"), "the taint goes")
