"""What may each NodePool launch that has an NVIDIA GPU, and what will such a node offer?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.decide import launchable, type_labels
from reconciler.decide import slots as counting
from reconciler.decide.expected import Expected, TypeFacts, expected
from reconciler.decide.overlay_facts import OverlayFacts
from reconciler.decide.requirement import Labels
from reconciler.decide.slots import SlotFacts, Slots
from reconciler.decide.verdict import NOT_OURS
from reconciler.model.node import InstanceType
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.reasons import Reason

_OPERATOR_LABELS = "nvidia.com/"
"""How the labels begin by which a template can take GPUs away from pods (MIG, virtual machines)."""

_SILENT = NOT_OURS | {Reason.UNKNOWN_TYPE, Reason.AWAITING_TYPE, Reason.NO_INSTANCE_TYPE}
"""Nothing says that the type has a GPU of NVIDIA's."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One type in one NodePool that may launch it."""

    pool: NodePoolView
    kind: InstanceType
    labels: Labels
    expected: Expected
    slots: Slots
    unread: tuple[Requirement, ...]
    """Requirements of the pool that could not be judged."""


def offers(facts: OverlayFacts, memory: CapacityPolicy, slicing: SlicingPolicy | None, now: datetime) -> list[Offer]:
    """By type, then by NodePool. `slicing` None: GPUs and slices are not asked about."""
    known = _Known(facts.types, memory, now)
    pools = sorted(active(facts), key=lambda pool: pool.name)
    return [
        offer
        for kind in sorted(facts.types)
        for pool in pools
        for offer in _offer(facts, pool, kind, known, slicing, now)
    ]


def active(facts: OverlayFacts) -> list[NodePoolView]:
    """NodePools whose Karpenter launches nodes, and knows overlays."""
    return [pool for pool in facts.pools if not pool.deleting and not pool.auto_mode]


class _Known:
    """Answers by type and by those labels of a template that matter; most NodePools have none of them."""

    def __init__(self, types: Mapping[InstanceType, TypeFacts], policy: CapacityPolicy, now: datetime) -> None:
        self._types = types
        self._policy = policy
        self._now = now
        self._labels: dict[InstanceType, Labels] = {}
        self._expected: dict[tuple[InstanceType, frozenset[tuple[str, str]]], Expected] = {}

    def labels(self, kind: InstanceType) -> Labels:
        if kind not in self._labels:
            self._labels[kind] = type_labels.of(kind, self._types[kind].specs)
        return self._labels[kind]

    def expected(self, kind: InstanceType, pool: NodePoolView) -> Expected:
        template = {key: value for key, value in pool.labels.items() if key.startswith(_OPERATOR_LABELS)}
        key = (kind, frozenset(template.items()))
        if key not in self._expected:
            self._expected[key] = expected(kind, self._types[kind], template, self._policy, self._now)
        return self._expected[key]


def _offer(
    facts: OverlayFacts,
    pool: NodePoolView,
    kind: InstanceType,
    known: _Known,
    slicing: SlicingPolicy | None,
    now: datetime,
) -> Iterator[Offer]:
    labels = known.labels(kind)
    launch = launchable.launch(pool, labels)
    if not launch.may:
        return
    what = known.expected(kind, pool)
    if what.verdict.reason in _SILENT:
        return
    count = Slots(None)
    if slicing is not None:
        count = counting.slots(SlotFacts(pool, kind, what, labels, facts.plugin, facts.refusals), slicing, now)
    yield Offer(pool, kind, labels, what, count, launch.unread)
