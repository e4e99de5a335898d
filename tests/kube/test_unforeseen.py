"""kube/reader and kube/watch: a mistake of ours that one object meets stays with that object; the watch goes on."""

import json
from typing import Any

import anyio
import pytest

from reconciler.kube import sources
from reconciler.kube.cache import NodeCache
from reconciler.kube.errors import status_of
from reconciler.kube.news import News, Seen, Synced, Vanished
from reconciler.kube.parse import Odd
from reconciler.kube.reader import Item, Reader, Unreadable, by_name
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Watcher
from reconciler.kube.wire import NodeWire
from reconciler.model import names
from reconciler.model.node import NodeName, NodeView
from reconciler.model.record import UnreadableRecord
from tests.kube.world import STEADY, World, virtual

NODES_PATH = "/api/v1/nodes"
DEEP = "[" * 1000 + "]" * 1000


def fragile(wire: NodeWire, odd: Odd) -> str | None:
    """A parser with a mistake in it: nodes that are called cursed make it fail."""
    if wire.metadata.name.startswith("cursed"):
        raise ZeroDivisionError("no such luck " + "x" * 5000)
    return wire.metadata.name


def reader(troubles: list[Trouble]) -> Reader[NodeWire, str]:
    return Reader("Node", NodeWire, fragile, by_name, troubles.append)


def line(obj: Any) -> bytes:
    return json.dumps({"type": "MODIFIED", "object": obj}).encode()


def test_an_object_that_the_parser_fails_on_is_there_and_unreadable_and_told_once() -> None:
    troubles: list[Trouble] = []
    read = reader(troubles)
    nodes = [{"metadata": {"name": name, "resourceVersion": "5"}} for name in ("a", "cursed", "b")]
    page = json.dumps({"metadata": {}, "items": nodes}).encode()

    assert [(item.key, item.view, item.readable) for item in read.page(page).items] == [
        ("a", "a", True),
        ("cursed", None, False),
        ("b", "b", True),
    ]
    assert read.event(line(nodes[1])) == Item("cursed", None, "5", readable=False)
    [trouble] = troubles
    assert (trouble.kind, trouble.name, trouble.unforeseen) == ("Node", "cursed", True)
    assert trouble.why.startswith("ZeroDivisionError: no such luck xxx")
    assert "(test_unforeseen.py:" in trouble.why, "where to look, since nobody sees a traceback"
    assert len(trouble.why) < 600


def test_brackets_a_thousand_deep_are_an_odd_object_and_its_neighbours_on_a_stream_are_read() -> None:
    troubles: list[Trouble] = []
    read = reader(troubles)
    deep = f'{{"type":"MODIFIED","object":{{"metadata":{{"name":"a"}},"spec":{{"x":{DEEP}}}}}}}'.encode()

    assert read.event(deep) == Unreadable()
    assert read.event(line({"metadata": {"name": "b"}})) == Item("b", "b")
    assert [trouble.unforeseen for trouble in troubles] == [False], "others' bytes are no mistake of ours"
    assert status_of(f'{{"code":410,"x":{DEEP}}}'.encode()).message is not None


@virtual
async def test_a_node_whose_record_is_a_thousand_brackets_is_seen_with_an_unreadable_record() -> None:
    world = World()
    cache = NodeCache()
    watcher = Watcher(world.transport, sources.nodes(world.report), cache.take, backoff=STEADY, report=world.report)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.synced.wait()
        world.node("a")
        world.merge(f"{NODES_PATH}/a", {"metadata": {"annotations": {names.RECORD: "[" * 1000}}})
        world.node("b")
        await anyio.sleep(1)
        node = cache.get(NodeName("a"))
        assert node is not None
        assert isinstance(node.record, UnreadableRecord)
        assert len(cache) == 2
        tasks.cancel_scope.cancel()


@virtual
async def test_what_was_known_of_an_object_that_became_unreadable_for_us_stays() -> None:
    world = World()
    seen: list[str] = []
    gone: list[str] = []

    def take(news: News[str]) -> None:
        match news:
            case Seen(key):
                seen.append(key)
            case Vanished(key):
                gone.append(key)
            case Synced(present):
                assert set(present) == {"a", "cursed"}

    world.node("a")
    world.node("cursed")
    source = Source(NODES_PATH, reader(world.troubles), {})
    watcher = Watcher(world.transport, source, take, backoff=STEADY, report=world.report)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.synced.wait()
        world.merge(f"{NODES_PATH}/cursed", {"metadata": {"labels": {"x": "y"}}})
        world.node("b")
        world.do("DELETE", f"{NODES_PATH}/cursed")
        await anyio.sleep(1)
        assert (seen, gone) == (["a", "b"], ["cursed"])
        assert [trouble.name for trouble in world.troubles] == ["cursed"]
        assert watcher.counts.watches == 1
        tasks.cancel_scope.cancel()


class Tripping:
    """A node cache in which those who are told of a change fail over nodes that are called cursed."""

    def __init__(self) -> None:
        self.cache = NodeCache()
        self.heard: list[str] = []
        self.cache.on_change(self._hear)

    def _hear(self, before: NodeView | None, after: NodeView | None) -> None:
        node = after or before
        assert node is not None
        if node.name.startswith("cursed"):
            raise LookupError(f"{node.name} is cursed")
        self.heard.append(node.name)


@virtual
async def test_a_sink_that_fails_over_one_object_hears_of_all_others() -> None:
    """Also when all are told to be gone at once."""
    world = World()
    for name in ("a", "cursed", "z"):
        world.node(name)
    told = Tripping()
    watcher = Watcher(
        world.transport, sources.nodes(world.report), told.cache.take, backoff=STEADY, report=world.report
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await watcher.synced.wait()
        assert told.heard == ["a", "z"]
        [trouble] = world.troubles
        assert (trouble.name, trouble.unforeseen) == ("cursed", True)
        assert trouble.why.startswith("LookupError: cursed is cursed")

        told.heard.clear()
        with pytest.raises(LookupError):
            told.cache.take(Synced(set()))
        assert told.heard == ["a", "z"]
        assert len(told.cache) == 0
        tasks.cancel_scope.cancel()


@virtual
async def test_cancellation_passes_through_a_sink() -> None:
    world = World()
    world.node("a")

    def stop(news: News[NodeView]) -> None:
        raise anyio.get_cancelled_exc_class()

    watcher = Watcher(world.transport, sources.nodes(world.report), stop, backoff=STEADY, report=world.report)
    with pytest.raises(anyio.get_cancelled_exc_class()):
        await watcher.run()
    assert world.troubles == []
