"""Who wrote a label, or a key of a ConfigMap? What metadata.managedFields say, and when they say it."""

from tests.contract.world import MERGE, Json, World, get

LABEL = "nvidia.com/device-plugin.config"


def owners(obj: Json, *path: str) -> list[tuple[str, str]]:
    """Manager and subresource of every entry that has this field."""
    found = []
    for entry in obj["metadata"].get("managedFields", []):
        fields: Json | None = entry["fieldsV1"]
        for part in path:
            fields = None if fields is None else fields.get(f"f:{part}")
        if fields is not None:
            found.append((entry["manager"], entry.get("subresource", "")))
    return found


def node(world: World, name: str, **labels: str) -> str:
    body = {"metadata": {"name": name, "labels": labels}}
    assert world.request("POST", "/api/v1/nodes", body, fieldManager="first").status == 201
    return f"/api/v1/nodes/{name}"


def write(world: World, path: str, change: Json, manager: str) -> None:
    assert world.request("PATCH", path, change, MERGE, fieldManager=manager).status == 200


def test_who_changes_a_label_owns_it_alone(world: World) -> None:
    path = node(world, "owned", **{LABEL: "a", "kept": "1"})
    try:
        assert owners(get(world, path), "metadata", "labels", LABEL) == [("first", "")]
        write(world, path, {"metadata": {"labels": {LABEL: "b"}}}, "second")
        assert owners(get(world, path), "metadata", "labels", LABEL) == [("second", "")]
        assert owners(get(world, path), "metadata", "labels", "kept") == [("first", "")]
        write(world, f"{path}/status", {"metadata": {"labels": {LABEL: "c"}}}, "second")
        assert owners(get(world, path), "metadata", "labels", LABEL) == [("second", "status")]
    finally:
        world.request("DELETE", path)


def test_who_writes_what_is_there_already_owns_nothing(world: World) -> None:
    path = node(world, "same", **{LABEL: "a"})
    try:
        write(world, path, {"metadata": {"labels": {LABEL: "a", "new": "1"}}}, "second")
        assert owners(get(world, path), "metadata", "labels", LABEL) == [("first", "")]
        assert owners(get(world, path), "metadata", "labels", "new") == [("second", "")]
    finally:
        world.request("DELETE", path)


def test_a_label_that_is_removed_has_no_owner(world: World) -> None:
    path = node(world, "removed", **{LABEL: "a", "kept": "1"})
    try:
        write(world, path, {"metadata": {"labels": {LABEL: None}}}, "second")
        assert owners(get(world, path), "metadata", "labels", LABEL) == []
        assert owners(get(world, path), "metadata", "labels", "kept") == [("first", "")]
    finally:
        world.request("DELETE", path)


def test_a_configmap_says_who_wrote_its_keys_and_when(world: World) -> None:
    folder = f"/api/v1/namespaces/{world.namespace}/configmaps"
    body = {"metadata": {"name": "c"}, "data": {"a": "1", "b": "1"}}
    assert world.request("POST", folder, body, fieldManager="first").status == 201
    world.pause(2)
    write(world, f"{folder}/c", {"data": {"b": "2"}}, "second")
    found = get(world, f"{folder}/c")
    assert (owners(found, "data", "a"), owners(found, "data", "b")) == ([("first", "")], [("second", "")])
    first, second = sorted(found["metadata"]["managedFields"], key=lambda entry: str(entry["manager"]))
    assert found["metadata"]["creationTimestamp"] == first["time"] < second["time"]
    assert {entry["operation"] for entry in (first, second)} == {"Update"}
