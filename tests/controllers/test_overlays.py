"""controllers/overlays.py: which nodes' words are worth a look at all overlays."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from reconciler.controllers.overlays import KEY, Overlays
from reconciler.kube.cache import NodeCache
from reconciler.kube.news import Seen, Vanished
from reconciler.kube.node_pools import NodePoolCache
from reconciler.kube.overlays import OverlayCache
from reconciler.kube.plugin_cache import PluginCache
from reconciler.model import names
from reconciler.model.gpu import LearnedFigure, SpecAnswer
from reconciler.model.node import Condition, InstanceType, NodeKey, NodeName, NodeView
from reconciler.model.overlay import OverlayPlan, OverlayPolicy
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.reasons import SharingReason
from reconciler.model.record import CapacityRecord, Source
from reconciler.runtime.clock import LoopClock

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
T4 = InstanceType("g4dn.xlarge")


class NothingKnown:
    """A catalog without any type."""

    def spec(self, instance_type: InstanceType) -> SpecAnswer | None:
        return None

    def builtin(self, instance_type: InstanceType) -> SpecAnswer | None:
        return None

    def learned(self, instance_type: InstanceType) -> LearnedFigure | None:
        return None

    def types(self) -> Collection[InstanceType]:
        return ()


class Unseen:
    def overlays(self, plan: OverlayPlan) -> None:
        return


@dataclass
class Place:
    """The loop, its nodes, and how often it was called since it looked last."""

    nodes: NodeCache = field(default_factory=NodeCache)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = Overlays(
            pools=NodePoolCache(),
            overlays=OverlayCache(),
            nodes=self.nodes,
            catalog=NothingKnown(),
            table=(),
            plugins=PluginCache(),
            pools_known=lambda: True,
            overlays_known=lambda: True,
            actuator=None,
            observer=Unseen(),
            wanted=self.calls.append,
            memory=CapacityPolicy(),
            slicing=SlicingPolicy(),
            policy=OverlayPolicy(),
            clock=LoopClock(NOW),
        )
        self.nodes.on_change(self.loop.node_changed)

    def look(self) -> None:
        self.loop.facts()
        self.calls.clear()

    def called(self, *nodes: NodeView) -> bool:
        for one in nodes:
            self.nodes.take(Seen(one.name, one))
        return KEY in self.calls


def node(name: str, mib: int = 14912, kind: InstanceType = T4) -> NodeView:
    """A node whose figure a probe has proved."""
    key, record = NodeKey(NodeName(name), f"uid-{name}"), CapacityRecord(names.MEMORY_RESOURCE, mib, Source.NVML)
    proved = Condition(names.CONDITION, "True", "Verified", "", NOW)
    labels = {names.KARPENTER_NODEPOOL: "dev"}
    return NodeView(key, kind, "b", True, NOW, labels, (), {}, {}, condition=proved, record=record)


def refusing(one: NodeView) -> NodeView:
    reason = SharingReason.FOREIGN_LABEL.value
    return replace(one, sharing_condition=Condition(names.SHARING_CONDITION, "False", reason, "", NOW))


def test_the_first_of_a_type_is_news_and_a_hundred_like_it_are_none() -> None:
    place = Place()
    assert place.called(node("a"))
    place.look()
    assert not place.called(*[node(f"n{number}") for number in range(100)])
    assert not place.called(node("more", 15000)), "the least counts"


def test_a_lower_figure_is_news_and_so_is_the_end_of_the_lowest() -> None:
    place = Place()
    place.called(node("a"), node("b", 15000))
    place.look()
    assert place.called(node("low", 14000))
    place.look()
    place.nodes.take(Vanished("b"))
    assert place.calls == []
    place.nodes.take(Vanished("low"))
    assert place.calls == [KEY]


def test_another_type_is_news() -> None:
    place = Place()
    place.called(node("a"))
    place.look()
    assert place.called(node("b", 22000, InstanceType("g5.xlarge")))


def test_the_first_node_of_a_nodepool_that_refuses_its_rule_is_news_and_so_is_its_change_of_mind() -> None:
    place = Place()
    place.called(node("a"), node("b"))
    place.look()
    assert place.called(refusing(node("a")))
    place.look()
    assert not place.called(refusing(node("b")))
    assert place.called(node("a"))


def test_before_the_first_look_every_word_is_news() -> None:
    place = Place()
    assert place.called(node("a"))
    place.calls.clear()
    assert place.called(node("b"))
