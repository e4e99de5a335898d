"""What do watches say?"""

import pytest

from tests.contract.world import MERGE, Json, World, get, make, patch

INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


def maps(world: World, name: str = "") -> str:
    return f"/api/v1/namespaces/{world.namespace}/configmaps" + (f"/{name}" if name else "")


def told(events: list[Json]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events if event["type"] != "BOOKMARK"]


def busy(world: World) -> str:
    """Make, change and delete a few objects; the version before."""
    version: str = get(world, maps(world))["metadata"]["resourceVersion"]
    make(world, maps(world), {"metadata": {"name": "a", "labels": {"on": "no"}}})
    make(world, maps(world), {"metadata": {"name": "b", "labels": {"on": "yes"}}})
    patch(world, maps(world, "a"), {"metadata": {"labels": {"on": "yes"}}}, MERGE)
    patch(world, maps(world, "b"), {"metadata": {"labels": {"on": "no"}}}, MERGE)
    world.request("DELETE", maps(world, "a"))
    world.request("DELETE", maps(world, "b"))
    return version


def test_a_watch_tells_everything_after_a_version_in_order(world: World) -> None:
    events = world.watch(maps(world), 1, resourceVersion=busy(world))
    wanted = [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("MODIFIED", "b"), ("DELETED", "a"), ("DELETED", "b")]
    assert told(events) == wanted
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_what_enters_a_selection_is_added_and_what_leaves_it_is_deleted(world: World) -> None:
    """And what leaves is told as it was, under the version at which it left."""
    events = world.watch(maps(world), 1, resourceVersion=busy(world), labelSelector="on=yes")
    assert told(events) == [("ADDED", "b"), ("ADDED", "a"), ("DELETED", "b"), ("DELETED", "a")]
    left = events[2]["object"]["metadata"]
    assert left["labels"] == {"on": "yes"}
    assert int(left["resourceVersion"]) > int(events[1]["object"]["metadata"]["resourceVersion"])


def test_a_watch_without_a_version_begins_with_what_is_there(world: World) -> None:
    make(world, maps(world), {"metadata": {"name": "a", "labels": {"mine": ""}}})
    for query in ({}, {"resourceVersion": "0"}):
        events = world.watch(maps(world), 1, labelSelector="mine", **query)
        assert told(events) == [("ADDED", "a")]


@pytest.mark.parametrize("selected", ["mine", "nobodys"])
def test_a_watch_list_marks_the_end_of_what_was_there(selected: str, world: World) -> None:
    """ADDED for each object, then a BOOKMARK with the annotation, even where there is nothing."""
    make(world, maps(world), {"metadata": {"name": "a", "labels": {"mine": ""}}})
    events = world.watch(maps(world), 5, until="BOOKMARK", labelSelector=selected, **INITIAL)
    assert told(events) == ([("ADDED", "a")] if selected == "mine" else [])
    end = events[-1]["object"]
    assert (end["kind"], end["apiVersion"]) == ("ConfigMap", "v1")
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(end["metadata"]["resourceVersion"]) > 0


def test_bookmarks_come_before_the_end_and_only_when_asked_for(world: World) -> None:
    """Two seconds before the timeout at the latest, so that the next watch starts from a fresh version."""
    version = get(world, maps(world))["metadata"]["resourceVersion"]
    with_them = world.watch(maps(world), 4, resourceVersion=version, allowWatchBookmarks="true")
    assert [event["type"] for event in with_them] == ["BOOKMARK"]
    assert int(with_them[0]["object"]["metadata"]["resourceVersion"]) >= int(version)
    assert world.watch(maps(world), 3, resourceVersion=version) == []


def test_initial_events_need_the_version_match_spelled_out(world: World) -> None:
    answer = world.request("GET", maps(world), watch="true", sendInitialEvents="true")
    assert answer.gist == (
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    )


def test_one_object_can_be_watched_by_name(world: World) -> None:
    version = busy(world)
    events = world.watch(maps(world), 1, resourceVersion=version, fieldSelector="metadata.name=a")
    assert told(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
