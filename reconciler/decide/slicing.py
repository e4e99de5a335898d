"""Which profile should the node's GPUs have, and does the device plugin follow? Reads in the order a node lives."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide import (
    fencing,
    following,
    foreign_label,
    label_owner,
    offered_anyway,
    offered_profile,
    offered_slots,
    others_sharing,
    rule,
    sharing_words,
    switching,
    wish,
)
from reconciler.decide.label_owner import Owner
from reconciler.decide.offered_profile import Fault
from reconciler.decide.rule import Found, Undecided
from reconciler.decide.sharing_answer import UNSAID, Answer, Voice
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.switching import Switch
from reconciler.decide.verdict import IN_THE_DARK, NOT_OURS, SILENT
from reconciler.decide.wish import Uncounted, Wish
from reconciler.model import names
from reconciler.model.plan import Action
from reconciler.model.policy import SlicingPolicy
from reconciler.model.reasons import SharingReason
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

    @property
    def said(self) -> bool:
        """Whether there is anything to say of the node's sharing: a rule is for it, and it has GPUs of NVIDIA's."""
        return self.reason not in UNSAID


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
        actions=sharing_words.actions(answer, facts.node, now, policy.fence_for),
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
            return _awaiting_memory(why, record, "until the GPU's model is known")
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
        return Answer(SharingReason.NOT_READY, memory.because, record, keeps_fence=True, voice=Voice.FENCE)
    if memory.reason in NOT_OURS:
        return _withdrawn(SharingReason.NOT_READY, memory.because, facts, record)
    return None


def _without_rule(facts: SharingFacts, record: SharingRecord) -> Answer:
    return _withdrawn(SharingReason.NO_RULE, "no rule for sharing is for this node", facts, record)


def _withdrawn(reason: SharingReason, because: str, facts: SharingFacts, record: SharingRecord) -> Answer:
    """Our condition goes. The label stays, since to remove it would switch the node by surprise.

    The annotation stays with it, to tell a rule that comes back that the label is ours.
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
        holds = "until the GPU Operator is done"
        return Answer(SharingReason.OPERATOR_BUSY, why, record, holds=holds, keeps_fence=True)
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
        return _awaiting_memory(why, record, "until that is known")
    wanted = wish.of(found, facts, ours=value if value == record.profile else None)
    if isinstance(wanted, Uncounted):
        return _awaiting_memory(wanted.because, record, "until the memory is known" if wanted.comes else "")
    if why := others_sharing.host_plugin(node):
        host = offered_anyway.by_the_host(wanted, facts, policy, record)
        return host or Answer(SharingReason.HOST_PLUGIN, why, record, profile=wanted.profile)
    owner = label_owner.of(node, record, wanted.profile)
    if owner is Owner.FOREIGN:
        return foreign_label.foreign(wanted, facts, record)
    return _labelled(wanted, owner, facts, policy, record, now)


def _awaiting_memory(because: str, record: SharingRecord, holds: str) -> Answer:
    return Answer(SharingReason.AWAITING_MEMORY, because, record, holds=holds, keeps_fence=True)


def _labelled(
    wanted: Wish, owner: Owner, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord, now: datetime
) -> Answer:
    """The answer where the label is ours to write, or right already."""
    profile = offered_profile.of(wanted, facts, policy)
    met = offered_anyway.by_default(wanted, profile, facts, policy, record)
    if met is not None:
        return met
    contender = record.contender
    if owner is Owner.REVERTED:
        contest = label_owner.contest(facts.node, record, facts.pool_label, policy, now)
        if contest.stopped:
            return foreign_label.reverted(wanted, facts, record, contest)
        contender = contest.contender
    if isinstance(profile, Fault):
        holds = "" if profile.reason is SharingReason.MPS else "until that has changed"
        return Answer(profile.reason, profile.because, record, holds=holds, profile=wanted.profile)
    if owner is Owner.RIGHT:
        return following.of(facts, wanted, profile, label_owner.adopted(record, wanted.profile), policy, now)
    there = offered_slots.of(facts.node, profile, facts.memory.count, policy)
    return switching.of(Switch(facts, wanted, there, record, contender, policy, now))
