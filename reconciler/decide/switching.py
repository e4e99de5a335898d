"""May the node's profile be switched now? Only while no pod holds its GPUs and none can come."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from reconciler.decide import fencing, following, offered_profile
from reconciler.decide.fencing import Fencing
from reconciler.decide.offered_slots import OfferedSlots
from reconciler.decide.sharing_answer import Answer, Voice
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.time_left import remaining
from reconciler.decide.wish import Wish
from reconciler.model import names
from reconciler.model.policy import Later, SlicingPolicy
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import Contender
from reconciler.model.sharing_record import SharingRecord


@dataclass(frozen=True, slots=True)
class Switch:
    """What is to be switched to, on which node, and when it is asked."""

    facts: SharingFacts
    wish: Wish
    there: OfferedSlots
    record: SharingRecord
    contender: Contender | None
    """Who wrote over our label, if this switch answers that."""
    policy: SlicingPolicy
    now: datetime


def of(switch: Switch) -> Answer:
    """The answer for a node whose label is to be another."""
    facts, policy, now = switch.facts, switch.policy, switch.now
    wait = offered_profile.mounts_in(facts, policy, now)
    if wait is not None:
        why = (
            f"ConfigMap {policy.config_map} has changed, and a pod that was mounted before may not see key"
            f" {switch.wish.profile} yet"
        )
        holds = "until the device plugin sees its profile"
        answer = _waiting(switch, SharingReason.AWAITING_PROFILE, why, revisit=wait, holds=holds)
        return replace(answer, keeps_fence=True)
    stands = fencing.of(facts.node.taints, now, policy.fence_for)
    if facts.node.has_startup_taint or (stands is Fencing.FOREIGN and policy.later is not Later.NEVER):
        return _labelled(switch) if facts.held <= 0 else _in_use(switch)
    match policy.later:
        case Later.NEVER:
            return _not_now(switch)
        case Later.IDLE:
            return _in_use(switch) if facts.held > 0 else _behind_a_fence(switch, stands)
        case Later.FENCE:
            return _emptied(switch, stands) if facts.held > 0 else _behind_a_fence(switch, stands)
        case _:
            assert_never(policy.later)


def _behind_a_fence(switch: Switch, stands: Fencing) -> Answer:
    """No pod holds a GPU: a fence first, then, once every pod that slipped in before it has shown, the label."""
    until = fencing.deadline(switch.facts.node.taints)
    policy, now = switch.policy, switch.now
    answer = _fenced(switch)
    if until is None or stands is not Fencing.STANDS or until - now < min(policy.follow_within, policy.fence_for / 2):
        return replace(answer, fence=now + policy.fence_for)
    quiet = remaining(until - policy.fence_for, fencing.QUIET, now)
    if quiet is not None:
        return replace(answer, voice=Voice.FENCE, revisit=quiet)
    return _labelled(switch)


def _emptied(switch: Switch, stands: Fencing) -> Answer:
    """Pods hold GPUs: no new ones are let in until those have ended, up to the fence's deadline."""
    policy, now, record = switch.policy, switch.now, switch.record
    rest = _rest(record, policy, now)
    match stands:
        case Fencing.STANDS:
            until = fencing.deadline(switch.facts.node.taints)
            return replace(_fenced(switch), revisit=None if until is None else until - now)
        case Fencing.OVER:
            if rest is None:
                rest = policy.fence_for
                record = replace(record, rest=now + rest)
            return replace(_in_use(switch), record=record, revisit=rest)
        case Fencing.NONE | Fencing.FOREIGN:
            if rest is not None:
                return replace(_in_use(switch), revisit=rest)
            return replace(_fenced(switch), fence=now + policy.fence_for)
        case _:
            assert_never(stands)


def _rest(record: SharingRecord, policy: SlicingPolicy, now: datetime) -> timedelta | None:
    """How long no new fence may come; None: it may. A rest that is longer than ours was edited, and does not count."""
    left = record.rest - now if record.rest is not None else timedelta(0)
    return left if timedelta(0) < left <= policy.fence_for else None


def _labelled(switch: Switch) -> Answer:
    record = SharingRecord(profile=switch.wish.profile, at=switch.now, contender=switch.contender)
    answer = following.switching(switch.wish, switch.there, record, switch.policy.follow_within)
    return replace(answer, label=switch.wish.profile)


def _in_use(switch: Switch) -> Answer:
    why = (
        f"profile {switch.wish.profile} is wanted, {switch.wish.because}, and pods on the node hold GPUs: it is"
        " switched to when they have ended"
    )
    return _waiting(switch, SharingReason.IN_USE, why, holds="until the pods on its GPUs have ended")


def _fenced(switch: Switch) -> Answer:
    why = (
        f"profile {switch.wish.profile} is wanted, {switch.wish.because}: a fence keeps new pods away, and it is"
        " switched to when no pod holds a GPU"
    )
    return replace(_waiting(switch, SharingReason.FENCED, why, holds="until the profile is switched"), keeps_fence=True)


def _not_now(switch: Switch) -> Answer:
    why = (
        f"profile {switch.wish.profile} is wanted, {switch.wish.because}, and slicing.later: never says to switch a"
        f" node only while it has the startup taint {names.STARTUP_TAINT}: replace the node"
    )
    return _waiting(switch, SharingReason.NOT_NOW, why)


def _waiting(
    switch: Switch, reason: SharingReason, because: str, *, holds: str = "", revisit: timedelta | None = None
) -> Answer:
    return Answer(
        reason,
        because,
        switch.record,
        holds=holds,
        profile=switch.wish.profile,
        expected=switch.there.expected,
        revisit=revisit,
    )
