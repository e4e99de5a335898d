"""Which profile should the node's GPUs have, and does the device plugin follow? Reads in the order a node lives."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reconciler.decide import (
    fencing,
    following,
    label_owner,
    offered_profile,
    others_sharing,
    rule,
    sharing_words,
    switching,
    wish,
)
from reconciler.decide.label_owner import Owner
from reconciler.decide.offered_profile import Fault
from reconciler.decide.rule import Found, Undecided
from reconciler.decide.sharing_answer import Answer, Voice
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.switching import Switch
from reconciler.decide.verdict import IN_THE_DARK, NOT_OURS, SILENT
from reconciler.decide.wish import Uncounted, Wish
from reconciler.model import names
from reconciler.model.plan import Action
from reconciler.model.policy import SlicingPolicy
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import Profile
from reconciler.model.sharing_record import SharingRecord

__all__ = ["SharingDecision", "SharingFacts", "decide"]


@dataclass(frozen=True, slots=True)
class SharingDecision:
    reason: SharingReason
    because: str
    """A sentence that holds while nothing changes: no durations, no progress."""
    profile: str = ""
    """The profile that is wanted; empty where none is, or none is known yet."""
    expected: int | None = None
    """How many GPUs or slices the device plugin should offer."""
    actions: tuple[Action, ...] = ()
    """An action on taints stands alone: it is written against the node's version, which a patch of the status moves."""
    revisit: timedelta | None = None
    """Look again after this time, when no event is expected to tell."""
    holds: str = ""
    """Why the startup taint must stay, as a clause that begins with "until"; empty where it may go."""


def decide(facts: SharingFacts, policy: SlicingPolicy, now: datetime) -> SharingDecision:
    """What to do about the node's sharing now. Total: every set of facts has an answer."""
    record = label_owner.remembered(facts.node, policy)
    answer = _answer(facts, policy, record, now)
    until = fencing.deadline(facts.node.taints)
    waits = [answer.revisit, until - now if until is not None and until > now else None]
    return SharingDecision(
        answer.reason,
        answer.because,
        profile=answer.profile,
        expected=answer.expected,
        actions=sharing_words.actions(answer, facts.node, now),
        revisit=None if answer.voice is Voice.NONE else min((wait for wait in waits if wait is not None), default=None),
        holds=answer.holds,
    )


def _answer(facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord, now: datetime) -> Answer:
    early = _not_its_time(facts, record)
    if early is not None:
        return early
    node, memory = facts.node, facts.memory
    match rule.find(policy.rules, node, memory, settled=facts.settled):
        case None:
            return _without_rule(facts, record)
        case Undecided(name):
            why = f"rule {name} asks for the GPU's model, which is not known yet"
            return Answer(SharingReason.AWAITING_MEMORY, why, record, holds="until the GPU's model is known")
        case Found() as found:
            return _left_alone(facts, record) or _with_rule(found, facts, policy, record, now)


def _not_its_time(facts: SharingFacts, record: SharingRecord) -> Answer | None:
    """The answer where nothing can be said of sharing yet, or any more."""
    node, memory = facts.node, facts.memory
    if node.disrupted:
        why = "Karpenter is emptying the node"
        return Answer(SharingReason.NOT_READY, why, record, voice=Voice.NONE)
    if node.deleting or memory.reason in SILENT:
        return Answer(SharingReason.NOT_READY, memory.because, record, voice=Voice.NONE)
    if memory.reason in IN_THE_DARK:
        return Answer(SharingReason.NOT_READY, memory.because, record, voice=Voice.FENCE)
    if memory.reason in NOT_OURS:
        return _withdrawn(SharingReason.NOT_READY, memory.because, facts, record)
    return None


def _without_rule(facts: SharingFacts, record: SharingRecord) -> Answer:
    return _withdrawn(SharingReason.NO_RULE, "no rule for sharing is for this node", facts, record)


def _withdrawn(reason: SharingReason, because: str, facts: SharingFacts, record: SharingRecord) -> Answer:
    """Our condition says why it says nothing more. The label stays: to remove it would switch the node by surprise.

    That it is ours is remembered with it, for a rule that comes back.
    """
    value = facts.node.labels.get(names.PLUGIN_CONFIG)
    if value is None or value != record.profile:
        return Answer(reason, because, SharingRecord())
    stays = f"{because}; the label {names.PLUGIN_CONFIG}={value} that we set stays, remove it if you want none"
    return Answer(reason, stays, SharingRecord(profile=value))


def _left_alone(facts: SharingFacts, record: SharingRecord) -> Answer | None:
    """The answer where others have the GPUs in hand, or are at work on the node."""
    node, memory = facts.node, facts.memory
    if why := others_sharing.vm_workload(node, memory):
        return Answer(SharingReason.VM_WORKLOAD, why, record)
    if why := others_sharing.busy(node):
        return Answer(SharingReason.OPERATOR_BUSY, why, record, holds="until the GPU Operator is done")
    if why := others_sharing.mig(node, memory):
        return Answer(SharingReason.MIG, why, record)
    return None


def _with_rule(
    found: Found, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord, now: datetime
) -> Answer:
    node, memory = facts.node, facts.memory
    value = node.labels.get(names.PLUGIN_CONFIG)
    if memory.count < 1:
        why = "how many GPUs the node has is not known yet"
        return Answer(SharingReason.AWAITING_MEMORY, why, record, holds="until that is known")
    wanted = wish.of(found, facts, ours=value if value == record.profile else None)
    if isinstance(wanted, Uncounted):
        holds = "until the memory is known" if wanted.comes else ""
        return Answer(SharingReason.AWAITING_MEMORY, wanted.because, record, holds=holds)
    if why := others_sharing.host_plugin(node):
        return _on_the_host(why, wanted, facts, policy, record)
    owner = label_owner.of(node, record, wanted.profile)
    if owner is Owner.FOREIGN:
        return _foreign(wanted, facts, record)
    offered = offered_profile.of(wanted, facts.plugin, policy)
    met = _met_without_label(wanted, offered, facts, policy, record)
    if met is not None:
        return met
    contest = None
    if owner is Owner.REVERTED:
        contest = label_owner.contest(node, record, facts.pool_label, policy, now)
        if contest.stopped:
            record = replace(record, contender=contest.contender)
            return _reverted(wanted, facts, contest, record)
    if isinstance(offered, Fault):
        holds = "" if offered.reason is SharingReason.MPS else "until that has changed"
        return Answer(offered.reason, offered.because, record, holds=holds, profile=wanted.profile)
    if owner is Owner.RIGHT:
        record = label_owner.adopted(record, wanted.profile)
        return following.of(facts, wanted, offered, record, policy, now)
    slots = following.slots(node, offered, memory.count, policy)
    contender = contest.contender if contest is not None else record.contender
    return switching.of(Switch(facts, wanted, slots, record, contender, policy, now))


def _on_the_host(why: str, wanted: Wish, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord) -> Answer:
    """A plugin that does not follow labels may still offer what is wanted, under either name."""
    profile = _as_seen(wanted, facts)
    if profile is not None:
        for renamed in (False, True):
            there = following.slots(facts.node, replace(profile, renamed=renamed), facts.memory.count, policy)
            if there.right:
                return following.met(facts, wanted, there, record)
    return Answer(SharingReason.HOST_PLUGIN, why, record, profile=wanted.profile)


def _met_without_label(
    wanted: Wish, offered: Profile | Fault, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord
) -> Answer | None:
    """A plugin without our label may offer what is wanted by its default: then it is not made to start anew for it.

    Behind the startup taint it is: no pod is hurt, and the node keeps its profile when the default changes.
    """
    node = facts.node
    if names.PLUGIN_CONFIG in node.labels or (node.has_startup_taint and isinstance(offered, Profile)):
        return None
    profile = offered if isinstance(offered, Profile) else _as_seen(wanted, facts)
    if profile is None:
        return None
    there = following.slots(node, profile, facts.memory.count, policy)
    return following.met(facts, wanted, there, record) if there.right else None


def _as_seen(wanted: Wish, facts: SharingFacts) -> Profile | None:
    """The profile by the rule's count; for one that a person named, by the ConfigMap."""
    if wanted.replicas is not None:
        return Profile(wanted.replicas)
    known = facts.plugin.profiles.get(wanted.profile) if facts.plugin is not None else None
    return known if isinstance(known, Profile) else None


def _foreign(wanted: Wish, facts: SharingFacts, record: SharingRecord) -> Answer:
    value = facts.node.labels.get(names.PLUGIN_CONFIG)
    why = (
        f"{label_owner.who(facts.node, facts.pool_label)} set the label {names.PLUGIN_CONFIG}={value}, and it is left as"
        f" it is; profile {wanted.profile} is wanted, {wanted.because}: remove the label, or the rule"
    )
    return Answer(SharingReason.FOREIGN_LABEL, why, record, profile=wanted.profile)


def _reverted(wanted: Wish, facts: SharingFacts, contest: label_owner.Contest, record: SharingRecord) -> Answer:
    value = facts.node.labels.get(names.PLUGIN_CONFIG)
    now_it = f"it says {value}" if value is not None else "it is gone"
    who = contest.contender
    why = (
        f"{who.who} wrote over our label {names.PLUGIN_CONFIG}={record.profile} {_times(who.count)} since"
        f" {who.since.isoformat(timespec='seconds')}, now {now_it}, so we stopped for a while; profile {wanted.profile} is"
        f" wanted, {wanted.because}: find who writes it (kubectl get node {facts.node.name} --show-managed-fields -o yaml)"
    )
    return Answer(SharingReason.REVERTED, why, record, profile=wanted.profile, revisit=contest.again_in)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
