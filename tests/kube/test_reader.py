"""kube/reader: pages and watch lines, where one odd object never stops the others."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kube import sources
from reconciler.kube.lines import Lines
from reconciler.kube.reader import Failed, Item, Marked, Reader, Removed, Unreadable
from reconciler.kube.trouble import Trouble
from reconciler.model.node import NodeView
from reconciler.model.workload import PodView


class Told:
    """A reader of nodes and one of pods, and what they told."""

    def __init__(self) -> None:
        self.troubles: list[Trouble] = []
        self.nodes: Reader[Any, NodeView] = sources.nodes(self.troubles.append).reader
        self.pods: Reader[Any, PodView] = sources.pods(self.troubles.append).reader


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "5", **fields}}


def page(*items: Any, **meta: str) -> bytes:
    return json.dumps({"kind": "NodeList", "metadata": meta, "items": list(items)}).encode()


def line(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode()


def test_a_page_is_its_objects_and_where_it_goes_on() -> None:
    found = Told().nodes.page(page(node("a"), node("b"), resourceVersion="9", **{"continue": "more"}))

    assert [item.key for item in found.items] == ["a", "b"]
    assert (found.version, found.cont) == ("9", "more")


@pytest.mark.parametrize("body", [page(), b'{"items":null,"metadata":{}}', b"{}"])
def test_an_empty_page_is_empty_however_it_is_written(body: bytes) -> None:
    assert Told().nodes.page(body).items == []


ODD_NODES = [
    (node("odd", labels="none"), "Expected `object | null`, got `str` - at `$.metadata.labels`"),
    ({"metadata": {"name": "odd"}, "spec": {"taints": {}}}, "at `$.spec.taints`"),
    ({"metadata": {"name": "odd"}, "status": []}, "at `$.status`"),
]


@pytest.mark.parametrize(("odd", "says"), ODD_NODES)
def test_an_odd_object_is_told_by_name_and_field_and_its_neighbours_are_read(odd: Any, says: str) -> None:
    told = Told()
    found = told.nodes.page(page(node("a"), odd, node("b"), resourceVersion="9", **{"continue": "more"}))

    assert [(item.key, item.view is not None, item.readable) for item in found.items] == [
        ("a", True, True),
        ("odd", False, False),
        ("b", True, True),
    ]
    assert (found.version, found.cont) == ("9", "more")
    assert [(trouble.kind, trouble.name) for trouble in told.troubles] == [("Node", "odd")]
    assert says in told.troubles[0].why


@pytest.mark.parametrize("nameless", [{}, [], 7, {"metadata": {"name": 7}}, {"metadata": {}}])
def test_an_object_that_cannot_be_named_is_left_out_and_told(nameless: Any) -> None:
    told = Told()

    assert [item.key for item in told.nodes.page(page(nameless, node("a"))).items] == ["a"]
    assert len(told.troubles) == 1
    assert told.nodes.event(line("ADDED", nameless)) == Unreadable()


def test_bytes_that_are_no_text_are_replaced() -> None:
    told = Told()
    body = page(node("a", labels={"x": "QQ"}), node("b")).replace(b"QQ", b"\xff\xfe")
    found = told.nodes.page(body)

    assert [item.key for item in found.items] == ["a", "b"]
    assert found.items[0].view is not None
    assert found.items[0].view.labels == {"x": "��"}


def test_an_odd_object_is_told_once_and_not_with_each_of_its_events() -> None:
    told = Told()
    for _ in range(10):
        item = told.nodes.event(line("MODIFIED", node("odd", labels="none")))
        assert item == Item("odd", None, "5", readable=False)

    assert len(told.troubles) == 1


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
def test_an_event_brings_a_view(kind: str) -> None:
    item = Told().nodes.event(line(kind, node("a")))

    assert isinstance(item, Item)
    assert (item.key, item.version, item.view is not None) == ("a", "5", True)


def test_a_deletion_needs_no_more_than_a_name() -> None:
    told = Told()

    assert told.nodes.event(line("DELETED", node("a"))) == Removed("a", "5")
    assert told.nodes.event(line("DELETED", node("a", labels="none"))) == Removed("a", "5")


def test_pods_are_known_by_their_uid() -> None:
    """Names are reused by StatefulSets while events are under way."""
    told = Told()
    pod = {"metadata": {"name": "p", "namespace": "dev", "uid": "u"}, "spec": {"nodeName": "n"}}
    item = told.pods.event(line("ADDED", pod))

    assert isinstance(item, Item)
    assert item.key == "u"
    assert told.pods.event(line("DELETED", pod)) == Removed("u", "")


BOOKMARK = {
    "kind": "Pod",
    "metadata": {"resourceVersion": "77", "creationTimestamp": None},
    "spec": {"containers": None},
}
END = {"kind": "Node", "metadata": {"resourceVersion": "78", "annotations": {"k8s.io/initial-events-end": "true"}}}


def test_bookmarks_are_read_however_they_are_spaced() -> None:
    told = Told()
    spaced = json.dumps({"object": END, "type": "BOOKMARK"}, indent=1).replace("\n", " ").encode()

    assert told.pods.event(line("BOOKMARK", BOOKMARK)) == Marked("77")
    assert told.nodes.event(line("BOOKMARK", END)) == Marked("78", initial_end=True)
    assert told.nodes.event(spaced) == Marked("78", initial_end=True)
    assert told.troubles == []


def test_an_error_says_its_code_and_why() -> None:
    told = Told()
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "code": 410, "reason": "Expired", "message": "old"}
    for form in (line("ERROR", status), json.dumps({"object": status, "type": "ERROR"}).encode()):
        event = told.nodes.event(form)
        assert isinstance(event, Failed)
        assert (event.status.code, event.status.message) == (410, "old")


@pytest.mark.parametrize("garbage", [b"<html>502</html>", b'{"type":"ADDED","object":{"metadata":', b"[]", b"\xff"])
def test_a_line_that_is_no_event_is_told(garbage: bytes) -> None:
    told = Told()

    assert told.nodes.event(garbage) == Unreadable()
    assert told.troubles[0].why.startswith(f"a watch line of {len(garbage)} bytes cannot be read")


STREAM = b"".join(
    line(kind, obj) + b"\n"
    for kind, obj in [
        ("ADDED", node("a")),
        ("BOOKMARK", END),
        ("MODIFIED", node("ä", labels={"k": "x" * 300})),
        ("DELETED", node("a")),
        ("ADDED", node("odd", labels="none")),
    ]
)


def events(chunks: list[bytes]) -> list[Any]:
    told, lines = Told(), Lines()
    return [told.nodes.event(one) for chunk in chunks for one in lines.feed(chunk)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_the_same_bytes_are_the_same_events_wherever_they_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in itertools.pairwise(edges)]

    assert events(chunks) == events([STREAM])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_line_whatsoever_stops_the_reader(garbage: bytes) -> None:
    told = Told()
    told.nodes.event(garbage)

    assert isinstance(told.nodes.event(line("ADDED", node("a"))), Item)
