"""What does a real API server answer to the requests that we build on?"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.controlplane.api import JSON_PATCH, MERGE, STRATEGIC, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.pods import deployment
from tests.controlplane.waiting import eventually

MEMORY = "veriff.com/gpu-memory"
OTHER_UID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("sent", "read"),
    [("15360Mi", "15Gi"), ("15079Mi", "15079Mi"), ("15.5Gi", "15872Mi"), ("15811477504", "15811477504")],
)
def test_a_quantity_reads_back_in_its_canonical_form(sent: str, read: str, control_plane: ControlPlane) -> None:
    """Compare parsed integers, never the text that was sent."""
    with bare_node(control_plane, "canonical") as path:
        control_plane.api.patch(f"{path}/status", {"status": {"capacity": {MEMORY: sent}}})
        assert control_plane.api.get(path)["status"]["capacity"][MEMORY] == read


@pytest.mark.parametrize("sent", ["0.5", "1500m", "0.1Mi", "-1"])
def test_a_quantity_that_is_not_whole_in_bytes_is_refused(sent: str, control_plane: ControlPlane) -> None:
    """422, whatever the kind of patch."""
    with bare_node(control_plane, "fractional") as path:
        answer = control_plane.api.request(
            "PATCH", f"{path}/status", {"status": {"capacity": {MEMORY: sent}}}, STRATEGIC
        )
        assert answer.status == 422


def test_one_strategic_patch_sets_values_conditions_labels_and_annotations_together(
    control_plane: ControlPlane,
) -> None:
    """A node join can be one request: nodes/status takes metadata too, and merges conditions by type."""
    with bare_node(control_plane, "together") as path:
        uid = control_plane.api.get(path)["metadata"]["uid"]
        condition = {"type": "GpuMemoryAdvertised", "status": "True", "reason": "Nvml", "message": "15079 MiB"}
        body: Json = {
            "metadata": {
                "uid": uid,
                "labels": {"gpu.example/model": "T4"},
                "annotations": {"gpu.example/record": "{}"},
            },
            "status": {
                "capacity": {MEMORY: "15079Mi"},
                "allocatable": {MEMORY: "15079Mi"},
                "conditions": [condition],
            },
        }
        control_plane.api.patch(f"{path}/status", body, STRATEGIC)
        node = control_plane.api.get(path)
        assert node["status"]["capacity"][MEMORY] == node["status"]["allocatable"][MEMORY] == "15079Mi"
        assert node["status"]["capacity"]["cpu"] == "4"
        assert {c["type"] for c in node["status"]["conditions"]} == {"Ready", "GpuMemoryAdvertised"}
        assert node["metadata"]["labels"]["gpu.example/model"] == "T4"
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "together"
        assert node["metadata"]["annotations"]["gpu.example/record"] == "{}"


def test_one_strategic_patch_removes_them_all_and_again(control_plane: ControlPlane) -> None:
    """null removes a key, `$patch: delete` a condition; what is not there is no error."""
    with bare_node(control_plane, "removed") as path:
        before = control_plane.api.get(path)
        set_all: Json = {
            "metadata": {"labels": {"gpu.example/model": "T4"}, "annotations": {"gpu.example/record": "{}"}},
            "status": {
                "capacity": {MEMORY: "1Gi"},
                "allocatable": {MEMORY: "1Gi"},
                "conditions": [{"type": "GpuMemoryAdvertised", "status": "True", "reason": "R", "message": "M"}],
            },
        }
        remove_all: Json = {
            "metadata": {"labels": {"gpu.example/model": None}, "annotations": {"gpu.example/record": None}},
            "status": {
                "capacity": {MEMORY: None},
                "allocatable": {MEMORY: None},
                "conditions": [{"$patch": "delete", "type": "GpuMemoryAdvertised"}],
            },
        }
        control_plane.api.patch(f"{path}/status", set_all, STRATEGIC)
        for _ in range(2):
            control_plane.api.patch(f"{path}/status", remove_all, STRATEGIC)
            after = control_plane.api.get(path)
            assert after["metadata"]["labels"] == before["metadata"]["labels"]
            assert "gpu.example/record" not in after["metadata"].get("annotations", {})
            assert after["status"]["capacity"] == before["status"]["capacity"]
            assert after["status"]["allocatable"] == before["status"]["allocatable"]
            assert [c["type"] for c in after["status"]["conditions"]] == ["Ready"]


def test_a_status_patch_that_changes_nothing_makes_no_event(control_plane: ControlPlane) -> None:
    """Writing what is there already keeps the resourceVersion: it costs a request and wakes nobody."""
    with bare_node(control_plane, "unchanged") as path:
        body = {"status": {"capacity": {MEMORY: "1Gi"}, "allocatable": {MEMORY: "1Gi"}}}
        first = control_plane.api.patch(f"{path}/status", body, STRATEGIC)
        again = control_plane.api.patch(f"{path}/status", body, STRATEGIC)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize("target", ["status", "node"])
@pytest.mark.parametrize("kind", [STRATEGIC, MERGE], ids=["strategic", "merge"])
@pytest.mark.parametrize(
    ("metadata", "status", "reason"),
    [({"uid": OTHER_UID}, 422, "Invalid"), ({"resourceVersion": "1"}, 409, "Conflict")],
    ids=["another-uid", "stale-version"],
)
def test_a_patch_meant_for_another_node_or_an_older_state_is_refused(
    target: str, kind: str, metadata: Json, status: int, reason: str, control_plane: ControlPlane
) -> None:
    """A node re-created under the same name never gets the figures of the one before."""
    with bare_node(control_plane, "guarded") as path:
        url = f"{path}/status" if target == "status" else path
        answer = control_plane.api.request("PATCH", url, {"metadata": {**metadata, "labels": {"x": "y"}}}, kind)
        assert (answer.status, answer.body["reason"]) == (status, reason), answer.body["message"]
        causes = [cause["field"] for cause in answer.body["details"].get("causes", [])]
        assert set(causes) == ({"metadata.uid"} if "uid" in metadata else set())
        assert "x" not in control_plane.api.get(path)["metadata"]["labels"]


def test_a_json_patch_whose_test_fails_is_a_422(control_plane: ControlPlane) -> None:
    """The other way to guard a write gives a 422 that does not say which test failed."""
    with bare_node(control_plane, "tested") as path:
        operations = [
            {"op": "test", "path": "/metadata/uid", "value": OTHER_UID},
            {"op": "add", "path": "/metadata/labels/x", "value": "y"},
        ]
        answer = control_plane.api.request("PATCH", f"{path}/status", operations, JSON_PATCH)
        assert (answer.status, answer.body["details"]) == (422, {})


@pytest.mark.parametrize("kind", ["nodes", "pods"])
def test_a_watch_can_begin_with_the_list_and_marks_its_end(kind: str, control_plane: ControlPlane) -> None:
    """WatchList: ADDED for each object, then a BOOKMARK with the annotation and the version to go on from."""
    with bare_node(control_plane, "listed"):
        events = []
        for event in control_plane.api.watch(
            f"/api/v1/{kind}",
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
        ):
            events.append(event)
            if event["type"] == "BOOKMARK":
                break
        assert {event["type"] for event in events[:-1]} == ({"ADDED"} if kind == "nodes" else set())
        end = events[-1]["object"]
        assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert int(end["metadata"]["resourceVersion"]) > 0
        assert "name" not in end["metadata"]


def test_what_etcd_and_the_api_server_forgot_is_a_410(own_control_plane: ControlPlane) -> None:
    """A watch says so in an ERROR event behind a status of 200, a page of a list by its HTTP status."""
    plane = own_control_plane
    first = plane.api.get("/api/v1/namespaces", limit=2)
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": "newer"}})
    plane.compact()
    plane.stop_apiserver()
    plane.start_apiserver()

    page = plane.api.request("GET", "/api/v1/namespaces", limit=2, **{"continue": first["metadata"]["continue"]})
    assert (page.status, page.body["reason"]) == (410, "Expired")
    events = list(plane.api.watch("/api/v1/namespaces", resourceVersion=first["metadata"]["resourceVersion"]))
    assert [event["type"] for event in events] == ["ERROR"]
    assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")


def test_pods_asking_for_gpu_memory_land_where_it_was_advertised_and_only_as_many_as_fit(
    control_plane: ControlPlane, namespace: str
) -> None:
    """Starting point A: 6 pods of 104Mi; memory alone decides where they go and when there is no room."""
    api = control_plane.api
    sizes = {"land-full": "416Mi", "land-small": "208Mi"}
    with (
        bare_node(control_plane, "land-none"),
        bare_node(control_plane, "land-full"),
        bare_node(control_plane, "land-small"),
    ):
        api.post(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("dev", 8, {MEMORY: "104Mi"}))
        for name, size in sizes.items():
            both = {"capacity": {MEMORY: size}, "allocatable": {MEMORY: size}}
            api.patch(f"/api/v1/nodes/{name}/status", {"status": both})

        def placed() -> Counter[str | None]:
            return Counter(p["spec"].get("nodeName") for p in api.get(f"/api/v1/namespaces/{namespace}/pods")["items"])

        wanted = {"land-full": 4, "land-small": 2, None: 2}
        eventually(lambda: placed() == wanted, "6 pods are placed by memory and 2 wait")

        def reasons() -> set[str]:
            pods = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
            waiting = [p["status"].get("conditions", []) for p in pods if "nodeName" not in p["spec"]]
            return {c["message"] for conditions in waiting for c in conditions if c["type"] == "PodScheduled"}

        eventually(lambda: any(f"3 Insufficient {MEMORY}" in reason for reason in reasons()), "the scheduler says why")
