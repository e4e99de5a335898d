"""What will a node of this type advertise before anybody has looked at it? Asked of the capacity decision itself.

A promise to an autoscaler must be kept by each node: a pod that fits the promise and not the node starts another node,
and another. So where sources differ the least counts, and a figure that nodes were seen to fall short of is lowered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.decide import capacity
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.gpu import GpuSpec, LearnedFigure, SpecAnswer
from reconciler.model.node import InstanceType, NodeKey, NodeName, NodeView
from reconciler.model.policy import CapacityPolicy
from reconciler.model.probe_state import NotProbed
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Source

_PROVEN = frozenset({Reason.VERIFIED, Reason.MISMATCH, Reason.OVERRIDDEN})
"""Reasons of healthy nodes whose figure is NVML's own."""


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """What is known of one instance type, without asking anybody."""

    spec: SpecAnswer | None = None
    builtin: SpecAnswer | None = None
    learned: LearnedFigure | None = None
    seen_mib: int | None = None
    """The least that healthy, probed nodes of the type advertise now; None where there are none."""

    @property
    def specs(self) -> tuple[GpuSpec, ...]:
        """Every answer that tells of GPUs."""
        return tuple(one for one in (self.spec, self.builtin) if isinstance(one, GpuSpec))


@dataclass(frozen=True, slots=True)
class Expected:
    """What a node of the type will show first, at least."""

    verdict: Verdict
    """The decision on such a node; its figure lowered to what probed nodes really have."""
    why: str
    source: Source
    fractional: bool
    """The type has a part of a GPU, which EC2 counts as none."""

    @property
    def mib(self) -> int | None:
        """Of the whole node; None: nothing is advertised."""
        return self.verdict.mib

    @property
    def gpus(self) -> int:
        """As the device plugin counts them; 0: nobody says."""
        return self.verdict.count


def expected(
    kind: InstanceType, facts: TypeFacts, template: Mapping[str, str], policy: CapacityPolicy, now: datetime
) -> Expected:
    """The decision on a node that has just registered. `template`: labels that its NodePool or node group gives it."""
    spec, lent = _cautious(facts)
    known = CapacityFacts(fresh(kind, template, now), spec, facts.builtin, facts.learned, NotProbed(), requested=0)
    verdict = capacity.decide(known, policy, now).verdict
    why, source = verdict.basis or verdict.because, verdict.source
    mig = template.get(names.MIG_CONFIG, "")
    if mig not in ("", "all-disabled") and verdict.mib is not None:
        why = f"its nodes are labelled {names.MIG_CONFIG}={mig}, and MIG devices have resources of their own"
        verdict = replace(verdict, reason=Reason.MIG, mib=None)
    elif verdict.mib is not None and facts.seen_mib is not None and facts.seen_mib < verdict.mib:
        why = f"{why}, but a probed node of the type has {facts.seen_mib} MiB"
        verdict = replace(verdict, mib=facts.seen_mib)
    if lent:
        why = why.replace("EC2 says", "EC2 is known to say")
        source = Source.BUILTIN if source is Source.EC2 else source
    return Expected(verdict, why, source, any(one.fractional for one in facts.specs))


def proven_mib(node: NodeView, resource: str) -> int | None:
    """What a healthy node advertises by NVML's word; None for every other node."""
    record, condition = node.record, node.condition
    if not isinstance(record, CapacityRecord) or condition is None or record.resource != resource:
        return None
    if record.source is not Source.NVML or condition.status != "True" or condition.reason not in _PROVEN:
        return None
    return record.advertised_mib


def least_seen(nodes: Iterable[NodeView], resource: str) -> dict[InstanceType, int]:
    """The least that healthy, probed nodes of each type advertise."""
    least: dict[InstanceType, int] = {}
    for node in nodes:
        mib = proven_mib(node, resource)
        if node.instance_type is not None and mib is not None:
            least[node.instance_type] = min(mib, least.get(node.instance_type, mib))
    return least


def _cautious(facts: TypeFacts) -> tuple[SpecAnswer | None, bool]:
    """The answer that the figure is made of, and whether the table stands in for EC2 in it.

    A node's figure sinks once EC2 has been asked, where EC2's is the smaller one; the table knows what EC2 says.
    """
    spec = facts.spec if isinstance(facts.spec, GpuSpec) or facts.builtin is None else facts.builtin
    if isinstance(spec, GpuSpec) and spec.ec2_mib is None:
        row = spec.builtin
        if row is not None and row.ec2_mib and row.instance_type == spec.instance_type:
            return replace(spec, ec2_mib=row.ec2_mib, not_asked_because=""), True
    return spec, False


def fresh(kind: InstanceType, template: Mapping[str, str], now: datetime) -> NodeView:
    """A node that Karpenter has just registered, and nobody has looked at."""
    return NodeView(
        key=NodeKey(NodeName(""), ""),
        instance_type=kind,
        boot_id="",
        ready=True,
        created=now,
        labels={**template, names.LABEL_INSTANCE_TYPE: kind, names.KARPENTER_REGISTERED: "true"},
        taints=(),
        capacity={},
        allocatable={},
    )
