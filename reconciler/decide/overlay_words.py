"""What is there to say about overlays, to the people who run the cluster? Sentences that hold while nothing changes."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from reconciler.decide.overlay_facts import OverlayFacts
from reconciler.decide.overlay_offers import Offer
from reconciler.decide.overlay_others import meets
from reconciler.decide.requirement import Fit
from reconciler.model.node import InstanceType
from reconciler.model.overlay import Finding, OverlayPolicy, OverlayReason, OverlayView, Wanted
from reconciler.model.reasons import Reason

_MOST_NAMED = 8
_SETTLES = timedelta(seconds=10)
"""Karpenter judges all overlays anew with each change, so a conflict among ours on their way is over by then."""

_LONG_AGO = timedelta(days=365)
"""For an overlay that does not say when it was changed."""


def of_pools(facts: OverlayFacts) -> Iterator[Finding]:
    """NodePools that get no overlays at all."""
    for pool in facts.pools:
        if pool.auto_mode:
            yield Finding(
                OverlayReason.AUTO_MODE,
                pool.name,
                f"NodePool {pool.name} is EKS Auto Mode's, whose Karpenter knows no NodeOverlays: it gets none",
            )


def of_offers(offers: Sequence[Offer], *, slices: bool) -> Iterator[Finding]:
    """Types that something is known of, and nothing can be told."""
    yield from _unread(offers)
    yield from _without_memory(offers)
    if slices:
        for pool, offer in {
            offer.pool.name: offer for offer in reversed(offers) if offer.slots.amounts is None
        }.items():
            yield Finding(
                OverlayReason.SLICES_UNKNOWN,
                pool,
                f"how many slices nodes of NodePool {pool} will offer cannot be told, so no overlay tells it:"
                f" {offer.slots.why} ({offer.kind})",
            )


def of_others(wanted: Sequence[Wanted], offers: Sequence[Offer], facts: OverlayFacts) -> Iterator[Finding]:
    """Overlays of others that set what ours set, with another weight."""
    for theirs in sorted((one for one in facts.overlays if one.subject is None), key=lambda one: one.name):
        met = [one for one in wanted if not set(theirs.capacity).isdisjoint(one.capacity)]
        types = {kind for one in met for kind in one.types if _on(theirs, kind, one, offers)}
        weights = {one.weight for one in met}
        if not types or theirs.weight in weights:
            continue
        resources = ", ".join(sorted({name for one in met for name in one.capacity if name in theirs.capacity}))
        if any(theirs.weight > weight for weight in weights):
            yield Finding(
                OverlayReason.OUTVOTED,
                theirs.name,
                f"NodeOverlay {theirs.name} sets {resources} for {listed(types)} with weight {theirs.weight}, which is"
                f" more than ours ({min(weights)}): Karpenter goes by theirs",
            )
        else:
            yield Finding(
                OverlayReason.OUTVOTES,
                theirs.name,
                f"NodeOverlay {theirs.name} sets {resources} for {listed(types)} with weight {theirs.weight}, which is"
                f" less than ours ({max(weights)}): Karpenter goes by ours",
            )


def yielded(theirs: OverlayView, resource: str, types: Iterable[InstanceType], weight: int) -> Finding:
    return Finding(
        OverlayReason.YIELDED,
        theirs.name,
        f"NodeOverlay {theirs.name} sets {resource} for {listed(types)} with the same weight as ours ({weight}):"
        " it is left to them; change one of the weights (karpenter.overlay_weight), or remove it",
    )


def of_names(wanted: Sequence[Wanted], found: Sequence[OverlayView]) -> Iterator[Finding]:
    """Names that somebody else has taken."""
    foreign = {one.name for one in found if one.subject is None}
    for one in wanted:
        if one.name in foreign:
            yield Finding(
                OverlayReason.NAME_TAKEN,
                one.name,
                f"NodeOverlay {one.name} exists without our label, so it is left alone: remove or rename it",
            )


def of_statuses(found: Sequence[OverlayView], policy: OverlayPolicy, now: datetime) -> Iterator[Finding]:
    """What Karpenter says of ours, or that it says nothing."""
    ours = sorted((one for one in found if one.subject is not None), key=lambda one: one.name)
    silent = [one.name for one in ours if one.validated is None and _since(one, now) >= policy.silent_after]
    if silent:
        yield Finding(
            OverlayReason.GATE_OFF,
            silent[0],
            f"Karpenter has said nothing about NodeOverlay {listed(silent)}, so it does not go by it: switch its"
            " feature gate NodeOverlay on (Helm: settings.featureGates.nodeOverlay=true)",
        )
    for one in ours:
        if one.validated is False and _since(one, now) >= _SETTLES:
            yield _refused(one, found)


def revisit(found: Iterable[OverlayView], policy: OverlayPolicy, now: datetime) -> timedelta | None:
    """When Karpenter's silence, or its No, begins to tell."""
    waits = [policy.silent_after - _since(one, now) for one in found if one.subject and one.validated is None]
    waits += [_SETTLES - _since(one, now) for one in found if one.subject and one.validated is False]
    due = [max(wait, timedelta(seconds=1)) for wait in waits if wait > timedelta(0)]
    return min(due, default=None)


def listed(things: Iterable[str]) -> str:
    """Names in order, the first few of many."""
    names = sorted(set(things))
    more = len(names) - _MOST_NAMED
    return f"{', '.join(names[:_MOST_NAMED])} and {more} more" if more > 1 else ", ".join(names)


def _refused(one: OverlayView, found: Sequence[OverlayView]) -> Finding:
    if not one.conflict:
        why = f"Karpenter refuses NodeOverlay {one.name}: {one.why_not}"
        return Finding(OverlayReason.REFUSED, one.name, why)
    rivals = [
        other.name
        for other in found
        if other.name != one.name and other.weight == one.weight and not set(other.capacity).isdisjoint(one.capacity)
    ]
    who = f" ({listed(rivals)})" if rivals else ""
    return Finding(
        OverlayReason.CONFLICT,
        one.name,
        f"Karpenter applies NodeOverlay {one.name} to none of its types, since another one of weight {one.weight}"
        f" sets the same resource for one of them{who}: change one of the weights, or remove it",
    )


def _since(one: OverlayView, now: datetime) -> timedelta:
    return now - one.changed if one.changed is not None else _LONG_AGO


def _on(theirs: OverlayView, kind: InstanceType, ours: Wanted, offers: Sequence[Offer]) -> bool:
    return any(
        offer.kind == kind
        and ours.pool in ("", offer.pool.name)
        and meets(theirs, offer.pool, offer.labels) is not Fit.NO
        for offer in offers
    )


def _unread(offers: Iterable[Offer]) -> Iterator[Finding]:
    keys: dict[str, set[str]] = {}
    for offer in offers:
        if offer.unread:
            keys.setdefault(offer.pool.name, set()).update(one.key for one in offer.unread)
    for pool, unread in sorted(keys.items()):
        yield Finding(
            OverlayReason.LENIENT,
            pool,
            f"NodePool {pool} asks for {listed(unread)}, which is not known of types here and counts as met",
        )


def _without_memory(offers: Iterable[Offer]) -> Iterator[Finding]:
    by_reason: dict[Reason, list[Offer]] = {}
    for offer in offers:
        if offer.expected.mib is None:
            by_reason.setdefault(offer.expected.verdict.reason, []).append(offer)
    for reason, silent in sorted(by_reason.items()):
        why = silent[0].expected.why
        if reason in (Reason.MIG, Reason.VM_WORKLOAD):
            pools = {offer.pool.name for offer in silent}
            sentence = f"no overlay tells of memory on nodes of NodePool {listed(pools)}: {why}"
            yield Finding(OverlayReason.NO_MEMORY, min(pools), sentence)
            continue
        kinds = {offer.kind for offer in silent}
        sentence = f"no overlay tells of the memory of {listed(kinds)} ({reason.value}); of {silent[0].kind}: {why}"
        yield Finding(OverlayReason.NOTHING_KNOWN, min(kinds), sentence)
