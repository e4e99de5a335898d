"""sandbox/store: versions, the log, and how far back it reaches."""

import pytest

from reconciler.sandbox.encoding import decode
from reconciler.sandbox.kinds import CONFIGMAPS, PODS
from reconciler.sandbox.shelf import TooOld
from tests.sandbox.conftest import Server

MAPS = "/api/v1/namespaces/a/configmaps"


def test_versions_only_grow_and_are_shared_by_all_kinds(server: Server) -> None:
    first = server.make(MAPS, {"metadata": {"name": "x"}})
    second = server.make("/api/v1/nodes", {"metadata": {"name": "n"}})
    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1


def test_the_log_forgets_the_oldest_changes_but_never_the_newest(server: Server) -> None:
    """History 50: at least 50 changes are kept, and at most twice as many."""
    shelf = server.store.shelf(CONFIGMAPS)
    server.make(MAPS, {"metadata": {"name": "x"}})
    for number in range(200):
        server.merge(f"{MAPS}/x", {"data": {"n": str(number)}})
    newest = server.store.version
    assert len(shelf.changes(shelf.position(newest - 50))) == 50
    with pytest.raises(TooOld):
        shelf.position(newest - 101)


def test_a_list_continued_from_a_forgotten_moment_is_a_410(server: Server) -> None:
    """The real server may serve it from its cache for a while; a client must expect both."""
    for name in ("x", "y", "z"):
        server.make(MAPS, {"metadata": {"name": name}})
    _, page = server.call("GET", MAPS, query={"limit": "1"})
    server.make(MAPS, {"metadata": {"name": "later"}})
    server.store.shelf(CONFIGMAPS).compact()
    status, body = server.call("GET", MAPS, query={"limit": "1", "continue": page["metadata"]["continue"]})
    assert (status, body["reason"]) == (410, "Expired")


def test_loaded_objects_are_served_as_if_they_had_always_been_there(server: Server) -> None:
    """Items may come as lists give them, without kind; what is older than the load is forgotten."""
    items = [
        (f"a/p{n}", f'{{"metadata":{{"name":"p{n}","namespace":"a","resourceVersion":"{n + 1}"}}}}'.encode())
        for n in range(3)
    ]
    server.store.load(PODS, items, version=5000)
    status, body = server.call("GET", "/api/v1/namespaces/a/pods/p1")
    assert (status, body["kind"], body["apiVersion"]) == (200, "Pod", "v1")
    _, listed = server.call("GET", "/api/v1/pods")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["p0", "p1", "p2"]
    assert listed["metadata"]["resourceVersion"] == "5000"
    assert "kind" not in listed["items"][0]
    with pytest.raises(TooOld):
        server.store.shelf(PODS).position(4999)
    assert int(server.make(MAPS, {"metadata": {"name": "x"}})["metadata"]["resourceVersion"]) == 5001


def test_the_same_seed_gives_the_same_uids_and_names() -> None:
    made = [server.make(MAPS, {"metadata": {"generateName": "x-"}})["metadata"] for server in (Server(), Server())]
    assert made[0] == made[1]


def test_stored_bytes_begin_with_the_kind_whatever_the_client_sent(server: Server) -> None:
    """Lists cut the head off by its length, so it must always be the same."""
    server.make(MAPS, {"metadata": {"name": "x"}, "kind": "ConfigMap", "data": {"k": "v"}, "apiVersion": "v1"})
    data = server.store.shelf(CONFIGMAPS).raw("a/x")
    assert data is not None
    assert data.startswith(CONFIGMAPS.prefix)
    assert decode(data)["data"] == {"k": "v"}
