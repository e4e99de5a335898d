"""What should Karpenter know about GPU nodes that are not there yet? NodePools, types and overlays in, one plan out.

Rule 1: an overlay tells no more than a node will really advertise. Rule 2: only overlays with our label are touched.
Rule 3: where somebody else's has the same weight we step back; what else is in our way is said, and not fought.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from reconciler.decide import overlay_wanted, overlay_words
from reconciler.decide.overlay_changes import changes
from reconciler.decide.overlay_facts import OverlayFacts
from reconciler.decide.overlay_offers import Offer, active, offers
from reconciler.decide.overlay_others import of_weight, others
from reconciler.model.node import InstanceType, Resources
from reconciler.model.overlay import (
    Finding,
    OverlayPlan,
    OverlayPolicy,
    OverlayReason,
    OverlayView,
    Subject,
    Wanted,
)
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.quantity import MIB

__all__ = ["OverlayFacts", "decide"]


def decide(
    facts: OverlayFacts, memory: CapacityPolicy, slicing: SlicingPolicy, policy: OverlayPolicy, now: datetime
) -> OverlayPlan:
    """What to do now. Total: every set of facts has an answer; on a still cluster a second pass plans nothing."""
    if not facts.pools_known:
        # No word on NodePools: what stands may still be right, so nothing is removed on a guess.
        ours = any(one.subject is not None for one in facts.overlays)
        return OverlayPlan(revisit=policy.look_again if ours else None)
    found = offers(facts, memory, slicing if policy.slices else None, now)
    wanted, asides = _memory(found, facts, memory, policy)
    if policy.slices:
        more, others_say = _gpus(found, facts, slicing, policy)
        wanted, asides = [*wanted, *more], [*asides, *others_say]
    findings = [
        *overlay_words.of_pools(facts),
        *overlay_words.of_offers(found, slices=policy.slices),
        *asides,
        *overlay_words.of_others(wanted, found, facts),
        *overlay_words.of_names(wanted, facts.overlays),
        *overlay_words.of_statuses(facts.overlays, policy, now),
    ]
    if wanted and not facts.overlays_known:
        findings.append(_no_kind(wanted))
        return OverlayPlan(tuple(wanted), (), tuple(findings), policy.look_again)
    actions = changes(wanted, facts.overlays)
    again = overlay_words.revisit(facts.overlays, policy, now)
    return OverlayPlan(tuple(wanted), tuple(actions), tuple(dict.fromkeys(findings)), again)


def _memory(
    found: Sequence[Offer], facts: OverlayFacts, memory: CapacityPolicy, policy: OverlayPolicy
) -> tuple[list[Wanted], list[Finding]]:
    """Overlays of the memory resource. Where nobody objects they name no NodePool."""
    theirs, pools = others(facts.overlays, memory.resource), active(facts)
    amounts: dict[InstanceType, dict[str, Resources | None]] = {}
    yielded: dict[str, set[InstanceType]] = {}
    bound = set()
    for offer in found:
        mib = offer.expected.mib
        told: Resources | None = None if mib is None or mib < 1 else {memory.resource: mib * MIB}
        # An overlay without a NodePool meets theirs in every NodePool, also in one that cannot launch the type.
        if told is not None and of_weight(theirs, policy.weight, pools, offer.labels) is not None:
            bound.add(offer.kind)
        rival = of_weight(theirs, policy.weight, [offer.pool], offer.labels)
        if told is not None and rival is not None:
            told = None
            yielded.setdefault(rival.name, set()).add(offer.kind)
        amounts.setdefault(offer.kind, {})[offer.pool.name] = told
    wanted = overlay_wanted.of(Subject.MEMORY, amounts, policy.weight, bound=frozenset(bound))
    return wanted, _yielded(theirs, yielded, memory.resource, policy)


def _gpus(
    found: Sequence[Offer], facts: OverlayFacts, slicing: SlicingPolicy, policy: OverlayPolicy
) -> tuple[list[Wanted], list[Finding]]:
    """Overlays of GPUs and slices, where a node offers another number than Karpenter knows by itself."""
    theirs = others(facts.overlays, slicing.gpu_resource)
    amounts: dict[InstanceType, dict[str, Resources | None]] = {}
    yielded: dict[str, set[InstanceType]] = {}
    for offer in found:
        told = offer.slots.amounts
        known_anyway = {slicing.gpu_resource: 0 if offer.expected.fractional else offer.expected.gpus}
        if told is None or dict(told) == known_anyway:
            continue
        rival = of_weight(theirs, policy.weight, [offer.pool], offer.labels)
        if rival is not None:
            yielded.setdefault(rival.name, set()).add(offer.kind)
            continue
        amounts.setdefault(offer.kind, {})[offer.pool.name] = told
    wanted = overlay_wanted.of(Subject.GPUS, amounts, policy.weight, bound=None)
    return wanted, _yielded(theirs, yielded, slicing.gpu_resource, policy)


def _yielded(
    theirs: Iterable[OverlayView], yielded: dict[str, set[InstanceType]], resource: str, policy: OverlayPolicy
) -> list[Finding]:
    return [
        overlay_words.yielded(one, resource, yielded[one.name], policy.weight) for one in theirs if one.name in yielded
    ]


def _no_kind(wanted: Sequence[Wanted]) -> Finding:
    return Finding(
        OverlayReason.NO_KIND,
        "",
        f"{len(wanted)} NodeOverlays should stand, and the cluster does not know the kind, or does not let us see it:"
        " install Karpenter's definition nodeoverlays.karpenter.sh (Karpenter 1.7 or newer), and grant the rights",
    )
