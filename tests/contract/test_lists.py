"""What do lists answer? Pages of one moment, selectors, and 410 when the moment is forgotten."""

import pytest

from tests.contract.world import World, bare_node, get, make, pod, pods_path


def maps(world: World) -> str:
    return f"/api/v1/namespaces/{world.namespace}/configmaps"


def fill(world: World, count: int = 5) -> None:
    for number in range(count):
        make(world, maps(world), {"metadata": {"name": f"m-{number}", "labels": {"n": str(number), "all": "yes"}}})


def names(page: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"]]


def test_pages_together_are_the_list_and_show_one_moment(world: World) -> None:
    """What is deleted or made between two pages changes neither the pages nor their version."""
    fill(world)
    query = {"limit": "2", "labelSelector": "all=yes"}
    first = get(world, maps(world), **query)
    assert names(first) == ["m-0", "m-1"]
    world.request("DELETE", f"{maps(world)}/m-3")
    make(world, maps(world), {"metadata": {"name": "m-2b", "labels": {"all": "yes"}}})
    second = get(world, maps(world), **query, **{"continue": first["metadata"]["continue"]})
    third = get(world, maps(world), **query, **{"continue": second["metadata"]["continue"]})
    assert names(second) + names(third) == ["m-2", "m-3", "m-4"]
    assert "continue" not in third["metadata"]
    versions = {page["metadata"]["resourceVersion"] for page in (first, second, third)}
    assert len(versions) == 1


def test_a_page_counts_what_is_left_and_items_of_built_in_kinds_do_not_say_their_kind(world: World) -> None:
    fill(world)
    everything = len(get(world, maps(world))["items"])
    page = get(world, maps(world), limit="2")
    assert page["metadata"]["remainingItemCount"] == everything - 2
    assert page["kind"] == "ConfigMapList"
    assert not {"kind", "apiVersion"} & page["items"][0].keys()


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("n=1", ["m-1"]),
        ("n==1", ["m-1"]),
        ("all,n!=1,n!=2,n!=3", ["m-0", "m-4"]),
        ("n in (1, 3)", ["m-1", "m-3"]),
        ("all,n notin (0,1,2)", ["m-3", "m-4"]),
        ("all=yes,!n", []),
        ("all=no", []),
    ],
)
def test_labels_select(selector: str, found: list[str], world: World) -> None:
    fill(world)
    assert names(get(world, maps(world), labelSelector=selector)) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("spec.nodeName={node}", ["bound"]),
        ("spec.nodeName!={node}", ["loose"]),
        ("spec.nodeName!=", ["bound"]),
        ("spec.nodeName=", ["loose"]),
        ("status.phase=Pending", ["bound", "loose"]),
        ("status.phase!=Pending", []),
        ("metadata.name=loose,status.phase!=Failed", ["loose"]),
    ],
)
def test_fields_of_pods_select(selector: str, found: list[str], world: World) -> None:
    with bare_node(world) as path:
        node = path.rpartition("/")[2]
        make(world, pods_path(world), pod("bound", nodeName=node))
        make(world, pods_path(world), pod("loose", schedulerName="nobody"))
        assert names(get(world, pods_path(world), fieldSelector=selector.format(node=node))) == found


@pytest.mark.parametrize(
    ("query", "gist"),
    [
        ({"limit": "x"}, (400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax')),
        ({"fieldSelector": "spec.foo=1"}, (400, "BadRequest", "field label not supported: spec.foo")),
        ({"limit": "2", "continue": "zzz"}, (400, "BadRequest", "continue key is not valid")),
        ({"labelSelector": "a b"}, (400, "BadRequest", "unable to parse requirement: found 'b'")),
        ({"resourceVersion": "999999999"}, (504, "Timeout", "Too large resource version: 999999999")),
    ],
)
def test_nonsense_in_the_query_is_refused(query: dict[str, str], gist: tuple[int, str, str], world: World) -> None:
    answer = world.request("GET", "/api/v1/nodes", **query)
    assert (answer.status, answer.body["reason"]) == gist[:2]
    assert gist[2] in answer.body["message"]
