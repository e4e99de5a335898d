"""What would be done about a node, and why, as one object for people and programs?"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta

from reconciler.decide import node as nodes
from reconciler.decide.limits import Limit, Load, limits
from reconciler.decide.node import NodeFacts, NodePolicy
from reconciler.decide.slicing import SharingDecision
from reconciler.model.node import InstanceType, NodeName, Resources
from reconciler.model.plan import Action, Advertise
from reconciler.model.reasons import Reason
from reconciler.model.record import Source


@dataclass(frozen=True, slots=True)
class Explanation:
    node: NodeName
    instance_type: InstanceType | None
    resource: str
    mib: int | None
    """What would be advertised; None: nothing."""
    source: Source
    reason: Reason
    because: str
    limits: tuple[Limit, ...]
    """For pods of the size that was asked about; the first one binds."""
    actions: tuple[Action, ...]
    sharing: SharingDecision
    opinions: tuple[str, ...] = ()
    """What labels of other parties say that differs from ours."""

    def to_document(self) -> dict[str, object]:
        """The object as JSON can write it. Every action and its fields are spelled as in model/plan.py."""
        return {
            "node": self.node,
            "instance_type": self.instance_type,
            "resource": self.resource,
            "mib": self.mib,
            "source": self.source.value,
            "reason": self.reason.value,
            "because": self.because,
            "sharing": _sharing(self.sharing) if self.sharing.said else None,
            "opinions": list(self.opinions),
            "limits": [
                {"resource": limit.resource, "fits": limit.fits, "total": limit.total, "binds": place == 0}
                for place, limit in enumerate(self.limits)
            ],
            "actions": [{"kind": type(action).__name__, **_fields(action)} for action in self.actions],
        }


def explain(
    facts: NodeFacts,
    policy: NodePolicy,
    now: datetime,
    *,
    load: Load | None = None,
    pod: Resources | None = None,
) -> Explanation:
    """Both decisions on the node, and what limits pods of the size `pod` once they are carried out.

    Without `load`, only the memory that facts know to be requested is taken.
    """
    decision = nodes.decide(facts, policy, now)
    verdict, plan = decision.verdict, decision.plan
    node, resource = facts.memory.node, policy.capacity.resource
    allocatable = dict(node.allocatable)
    for action in plan.actions:
        if isinstance(action, Advertise):
            allocatable |= {name: amount or 0 for name, amount in action.resources.items()}
    running = load if load is not None else Load({resource: facts.memory.requested})
    return Explanation(
        node=node.name,
        instance_type=node.instance_type,
        resource=resource,
        mib=verdict.mib,
        source=verdict.source,
        reason=plan.reason,
        because=plan.because,
        limits=limits(allocatable, running, pod or {}),
        actions=plan.actions,
        sharing=decision.sharing,
        opinions=decision.opinions,
    )


def _sharing(decision: SharingDecision) -> dict[str, object]:
    return {
        "profile": decision.profile,
        "expected": decision.expected,
        "reason": decision.reason.value,
        "because": decision.because,
    }


def _fields(value: object) -> dict[str, object]:
    assert is_dataclass(value)
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}


def _plain(value: object) -> object:
    """Values of model/ as JSON knows them. An enum is its text already, a str."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [_plain(one) for one in value]
    return _fields(value)
