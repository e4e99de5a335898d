"""What do patches do, and with which words are they refused?"""

from typing import Any

import pytest

from tests.contract.world import JSON_PATCH, MEMORY, MERGE, OTHER_UID, STRATEGIC, Json, World, bare_node, get, patch

NOT_APPLICABLE = (422, "Invalid", "the server rejected our request due to an error in our request")
POINTER = MEMORY.replace("/", "~1")


def add(path: str, value: object) -> Json:
    return {"op": "add", "path": path, "value": value}


@pytest.mark.parametrize(
    ("content_type", "change"),
    [
        (JSON_PATCH, [add(f"/status/capacity/{POINTER}", "15079Mi"), add(f"/status/allocatable/{POINTER}", "15079Mi")]),
        (MERGE, {"status": {part: {MEMORY: "15079Mi"} for part in ("capacity", "allocatable")}}),
        (STRATEGIC, {"status": {part: {MEMORY: "15079Mi"} for part in ("capacity", "allocatable")}}),
    ],
)
def test_each_kind_of_patch_adds_the_resource_twice_over_and_touches_no_other(
    content_type: str, change: object, world: World
) -> None:
    """A second time is no write: the version stays."""
    with bare_node(world, {"example.com/other": "3"}) as path:
        first = patch(world, f"{path}/status", change, content_type)
        again = patch(world, f"{path}/status", change, content_type)
        for part in ("capacity", "allocatable"):
            assert again["status"][part][MEMORY] == "15079Mi"
            assert again["status"][part]["example.com/other"] == "3"
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("content_type", "change"),
    [
        (JSON_PATCH, [{"op": "remove", "path": f"/status/capacity/{POINTER}"}]),
        (MERGE, {"status": {"capacity": {MEMORY: None}}}),
        (STRATEGIC, {"status": {"capacity": {MEMORY: None}}}),
    ],
)
def test_each_kind_of_patch_removes_the_resource(content_type: str, change: object, world: World) -> None:
    with bare_node(world, {MEMORY: "1Gi"}) as path:
        capacity = patch(world, f"{path}/status", change, content_type)["status"]["capacity"]
        assert MEMORY not in capacity
        assert capacity["cpu"] == "4"


@pytest.mark.parametrize(
    ("content_type", "change", "gist"),
    [
        (JSON_PATCH, {"op": "add"}, (400, "BadRequest", None)),
        (JSON_PATCH, [{"op": "frob", "path": "/x"}], NOT_APPLICABLE),
        (JSON_PATCH, [{"op": "add"}], NOT_APPLICABLE),
        (JSON_PATCH, [add("/nope/x", 1)], NOT_APPLICABLE),
        (JSON_PATCH, [{"op": "remove", "path": "/status/capacity/x"}], NOT_APPLICABLE),
        (JSON_PATCH, [{"op": "test", "path": "/status/capacity/x", "value": "1"}], NOT_APPLICABLE),
        (JSON_PATCH, [{"op": "test", "path": "/metadata/uid", "value": OTHER_UID}], NOT_APPLICABLE),
        (JSON_PATCH, [add("/metadata/uid", OTHER_UID)], (422, "Invalid", "metadata.uid")),
        (JSON_PATCH, [add("/status/capacity/x", "abc")], (422, "Invalid", "quantities must match")),
        (JSON_PATCH, [add("/metadata/labels/x", "")] * 10_001, (413, "RequestEntityTooLarge", "got 10001")),
        (MERGE, [1], (400, "BadRequest", "cannot unmarshal array")),
        (MERGE, {"metadata": {"uid": OTHER_UID}}, (422, "Invalid", "field is immutable")),
        (MERGE, {"metadata": {"resourceVersion": "1"}}, (409, "Conflict", "the object has been modified")),
        (STRATEGIC, [1], (400, "BadRequest", "cannot unmarshal array")),
        (STRATEGIC, {"metadata": {"uid": OTHER_UID}}, (422, "Invalid", "field is immutable")),
        (STRATEGIC, {"metadata": {"resourceVersion": "1"}}, (409, "Conflict", "the object has been modified")),
        (STRATEGIC, {"status": {"capacity": {"x/y": "abc"}}}, (422, "Invalid", "quantities must match")),
        ("application/json", {}, (415, "UnsupportedMediaType", "415: Unsupported Media Type")),
    ],
)
def test_a_patch_that_cannot_be_is_refused(
    content_type: str, change: object, gist: tuple[int, str, str | None], world: World
) -> None:
    """And leaves the node as it was."""
    with bare_node(world) as path:
        before = get(world, path)
        answer = world.request("PATCH", f"{path}/status", change, content_type)
        assert (answer.status, answer.body["reason"]) == gist[:2]
        assert (gist[2] or "") in answer.body["message"]
        assert get(world, path) == before


def test_a_json_patch_may_replace_what_is_not_there(world: World) -> None:
    """A quirk of the library that the server uses: `replace` is `add` for members of maps."""
    change = [{"op": "replace", "path": f"/status/capacity/{POINTER}", "value": "1Gi"}]
    with bare_node(world) as path:
        assert patch(world, f"{path}/status", change, JSON_PATCH)["status"]["capacity"][MEMORY] == "1Gi"


def test_strategic_patches_merge_conditions_by_type(world: World) -> None:
    """New ones come first; `$patch: delete` takes one out, and one that is not there is no error."""
    ours: Json = {"type": "GPUMemoryReady", "status": "True", "reason": "Nvml", "message": "x"}
    with bare_node(world) as path:
        patch(world, f"{path}/status", {"status": {"conditions": [ours]}})
        patched = patch(world, f"{path}/status", {"status": {"conditions": [{**ours, "status": "False"}]}})
        assert [(each["type"], each["status"]) for each in patched["status"]["conditions"]] == [
            ("GPUMemoryReady", "False"),
            ("Ready", "True"),
        ]
        for _ in range(2):
            gone = {"status": {"conditions": [{"$patch": "delete", "type": "GPUMemoryReady"}]}}
            patched = patch(world, f"{path}/status", gone)
            assert [each["type"] for each in patched["status"]["conditions"]] == ["Ready"]


def test_merge_patches_replace_a_list_whole(world: World) -> None:
    ours: Json = {"type": "GPUMemoryReady", "status": "True", "reason": "Nvml", "message": "x"}
    with bare_node(world) as path:
        patched = patch(world, f"{path}/status", {"status": {"conditions": [ours]}}, MERGE)
        assert [each["type"] for each in patched["status"]["conditions"]] == ["GPUMemoryReady"]


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_taints_are_one_value(content_type: str, world: World) -> None:
    """core/v1 gives them no patchStrategy: whoever writes one writes all, so the version must be guarded."""
    first, second = ({"key": key, "effect": "NoSchedule"} for key in ("first", "second"))
    with bare_node(world) as path:
        patch(world, path, {"spec": {"taints": [first]}}, content_type)
        assert patch(world, path, {"spec": {"taints": [second]}}, content_type)["spec"]["taints"] == [second]


@pytest.mark.parametrize(
    ("taints", "message"),
    [
        ([{"key": "a", "effect": "Nope"}], 'metadata.taints[0].effect: Unsupported value: "Nope"'),
        ([{"key": "a", "effect": "NoSchedule"}] * 2, "taints must be unique by key and effect pair"),
        ([{"key": "a b", "effect": "NoSchedule"}], "name part must consist of alphanumeric characters"),
    ],
)
def test_taints_that_make_no_sense_are_refused(taints: list[Any], message: str, world: World) -> None:
    with bare_node(world) as path:
        answer = world.request("PATCH", path, {"spec": {"taints": taints}}, STRATEGIC)
        assert (answer.status, answer.body["reason"]) == (422, "Invalid")
        assert message in answer.body["message"]


def test_a_status_write_takes_metadata_but_not_spec_and_a_main_write_no_status(world: World) -> None:
    """So a node join can be one request, taints cannot be in it, and status on the main path is a silent no-op."""
    with bare_node(world) as path:
        change: Json = {
            "metadata": {"labels": {"ours": "1"}, "annotations": {"ours": "{}"}},
            "spec": {"unschedulable": True},
            "status": {"capacity": {MEMORY: "1Gi"}},
        }
        node = patch(world, f"{path}/status", change)
        assert node["metadata"]["labels"]["ours"] == "1"
        assert node["metadata"]["annotations"]["ours"] == "{}"
        assert "unschedulable" not in node["spec"]
        node = patch(world, path, {"spec": {"unschedulable": True}, "status": {"capacity": {MEMORY: "2Gi"}}})
        assert node["spec"]["unschedulable"] is True
        assert node["status"]["capacity"][MEMORY] == "1Gi"
