"""A node on paper: what an API server makes of our actions, as a pure function, so that plans can be played out."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar, assert_never

from reconciler.decide.capacity import CapacityFacts, plan
from reconciler.model import names, record, sharing_record
from reconciler.model.node import InstanceType, NodeKey, NodeName, NodeView, Resources
from reconciler.model.plan import (
    Action,
    Advertise,
    Announce,
    ClearTaint,
    Learn,
    Plan,
    RestartPlugin,
    RunProbe,
    SetTaint,
)
from reconciler.model.policy import CapacityPolicy
from reconciler.model.probe_state import NotProbed, Probing
from reconciler.model.record import CapacityRecord, UnreadableRecord

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
T = TypeVar("T")


def node(
    instance_type: str | None = "g4dn.xlarge",
    *,
    labels: Mapping[str, str] | None = None,
    capacity: Resources | None = None,
    boot_id: str = "boot-1",
    ready: bool = True,
    annotation: CapacityRecord | UnreadableRecord | None = None,
    **others: object,
) -> NodeView:
    """A GPU node whose device plugin runs, as a kubelet reports it."""
    amounts = {"cpu": 4000, "memory": 16 * 2**30, "pods": 29, "nvidia.com/gpu": 1} if capacity is None else capacity
    view = NodeView(
        key=NodeKey(NodeName("ip-10-0-0-1"), "uid-1"),
        instance_type=InstanceType(instance_type) if instance_type is not None else None,
        boot_id=boot_id,
        ready=ready,
        created=NOW - timedelta(hours=1),
        labels={"kubernetes.io/os": "linux"} if labels is None else labels,
        taints=(),
        capacity=amounts,
        allocatable=amounts,
        record=annotation,
        resource_version="7",
    )
    return replace(view, **others)  # type: ignore[arg-type]  # the caller's fields are checked by the dataclass


def applied(view: NodeView, action: Action) -> NodeView:
    """The node after one action. Jobs, events and the catalog leave it as it is."""
    match action:
        case Advertise(key, resources, labels, annotations, condition, dropped, second):
            assert key == view.key
            text, sharing = annotations.get(names.RECORD), annotations.get(names.SHARING_RECORD)
            kept = None if names.SHARING_RECORD in annotations else view.sharing_record
            told = None if dropped == names.SHARING_CONDITION else view.sharing_condition
            said = {one.type: one for one in (condition, second) if one is not None}
            return replace(
                view,
                capacity=_merged(view.capacity, resources),
                allocatable=_merged(view.allocatable, resources),
                labels=_merged(view.labels, labels),
                record=record.parse(text) if text is not None else view.record,
                sharing_record=sharing_record.parse(sharing) if sharing is not None else kept,
                condition=said.get(names.CONDITION, view.condition),
                sharing_condition=said.get(names.SHARING_CONDITION, told),
                resource_version=f"{view.resource_version}1",
            )
        case ClearTaint(key, _, keep, version):
            assert (key, version) == (view.key, view.resource_version), "the list was read before another write"
            return replace(view, taints=keep, resource_version=f"{version}1")
        case SetTaint(key, taint, keep, version):
            assert (key, version) == (view.key, view.resource_version), "the list was read before another write"
            return replace(view, taints=(*keep, taint), resource_version=f"{version}1")
        case RunProbe() | Learn() | Announce() | RestartPlugin():
            return view
        case _:
            assert_never(action)


def after(facts: CapacityFacts, what: Plan, now: datetime = NOW) -> CapacityFacts:
    """What is known once the plan is carried out and nothing else has happened."""
    for action in what.actions:
        facts = replace(facts, node=applied(facts.node, action))
        match action:
            case RunProbe():
                facts = replace(facts, probe=Probing(now))
            case Learn(figure):
                facts = replace(facts, learned=figure)
            case Advertise() | ClearTaint() | SetTaint() | RestartPlugin() | Announce():
                pass
            case _:
                assert_never(action)
    return facts


def settled(
    facts: CapacityFacts, policy: CapacityPolicy, now: datetime = NOW, passes: int = 4
) -> tuple[CapacityFacts, list[Plan]]:
    """Decide and act until nothing is left to do; the plans with actions, in order."""
    plans: list[Plan] = []
    for _ in range(passes):
        what = plan(facts, policy, now)
        if not what.actions:
            return facts, plans
        plans.append(what)
        facts = after(facts, what, now)
    raise AssertionError(f"after {passes} passes there is still something to do: {plans}")


def facts_of(view: NodeView, **others: object) -> CapacityFacts:
    """Facts of a node of which nothing else is known."""
    blank = CapacityFacts(node=view, spec=None, builtin=None, learned=None, probe=NotProbed(), requested=0)
    return replace(blank, **others)  # type: ignore[arg-type]  # the caller's fields are checked by the dataclass


def kinds(what: Plan) -> list[str]:
    """The actions by name."""
    return [type(action).__name__ for action in what.actions]


def only(what: Plan, kind: type[T]) -> T:
    """The one action of this kind."""
    (action,) = [action for action in what.actions if isinstance(action, kind)]
    return action


def _merged(old: Mapping[str, T], change: Mapping[str, T | None]) -> dict[str, T]:
    merged = dict(old)
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
