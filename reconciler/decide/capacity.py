"""What should be done about a node's GPU memory? Facts in, one plan out; reads in the order a node lives."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide import claim as claims
from reconciler.decide import finding, learning, ownership, probing, standing, startup, writing
from reconciler.decide.claim import Claim
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.finding import Ended
from reconciler.decide.judge import judge
from reconciler.decide.verdict import IN_THE_DARK, SILENT, Verdict
from reconciler.model.node import NodeView
from reconciler.model.plan import Action, Announce, Learn, Plan
from reconciler.model.policy import CapacityPolicy
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, UnreadableRecord

__all__ = ["CapacityFacts", "Decision", "Draft", "decide", "draft", "in_order", "plan", "sooner"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan together with the verdict it carries out, for those who show both."""

    verdict: Verdict
    plan: Plan


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be done about the memory, the startup taint left out: others may have a say in that."""

    verdict: Verdict
    claim: Claim
    words: tuple[Action, ...] = ()
    """What is written on the node, and told of it."""
    errands: tuple[Action, ...] = ()
    """What is done elsewhere: a probe, a lesson for the catalog."""
    asides: tuple[str, ...] = ()
    revisit: timedelta | None = None
    probe_over: bool = False
    """The probe has nothing more to say within this boot, or is switched off."""

    @property
    def settled(self) -> bool:
        """The advertised figure stands, or none will be, and that will not change by itself."""
        return self.probe_over and (self.claim.holds or self.verdict.mib is None)

    def holds_taint(self, node: NodeView, policy: CapacityPolicy) -> str:
        """Why the startup taint must stay on account of the memory; empty where it may go."""
        return startup.waits_for(self.claim, node, policy, probe_over=self.probe_over)

    def because(self, *more: str) -> str:
        """All there is to say, for the log."""
        return "; ".join(part for part in (self.verdict.because, self.verdict.aside, *self.asides, *more) if part)


def plan(facts: CapacityFacts, policy: CapacityPolicy, now: datetime) -> Plan:
    """What to do about the node now, if memory is all that matters. Total: every set of facts has an answer."""
    return decide(facts, policy, now).plan


def decide(facts: CapacityFacts, policy: CapacityPolicy, now: datetime) -> Decision:
    """The plan and the verdict behind it."""
    drafted = draft(facts, policy, now)
    gate = startup.gate(facts.node, drafted.holds_taint(facts.node, policy), busy=bool(drafted.words))
    actions = in_order((*drafted.words, *gate.actions, *drafted.errands))
    return Decision(
        drafted.verdict, Plan(drafted.verdict.reason, drafted.because(gate.aside), actions, drafted.revisit)
    )


def in_order(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Words before the acts that remember them as told (writing.announce)."""
    return tuple(sorted(actions, key=lambda action: not isinstance(action, Announce)))


def draft(facts: CapacityFacts, policy: CapacityPolicy, now: datetime) -> Draft:
    """What to do about the memory now."""
    node = facts.node
    record = ownership.remembered(node, policy)
    verdict, ended = _verdict(facts, policy, record)
    claim = claims.of(verdict, facts, policy, record, now)
    verdict = claim.verdict
    over = not policy.probe or (ended is not None and ended.fresh)
    if verdict.reason in SILENT:
        again = policy.probe_poll if verdict.reason is Reason.AWAITING_TYPE else None
        return Draft(verdict, claim, revisit=again, probe_over=over)
    words, asides = _words_on_the_node(claim, facts, policy, record, ended, now)
    probe, look_again = probing.due(facts, policy, verdict, ended, now)
    errands: list[Action] = [] if probe is None else [probe]
    if verdict.learn is not None and learning.is_news(verdict.learn, facts.learned):
        errands.append(Learn(verdict.learn))
    again = sooner(claim.again_in, look_again)
    return Draft(verdict, claim, tuple(words), tuple(errands), tuple(asides), again, over)


def _verdict(
    facts: CapacityFacts, policy: CapacityPolicy, record: CapacityRecord | None
) -> tuple[Verdict, Ended | None]:
    """The verdict, and the end of a probe that is worth remembering with it."""
    ended = finding.ended(facts.node, facts.probe, record)
    promised = standing.of(facts, policy, record)
    if isinstance(promised, Verdict):
        verdict, counting = promised, None
    else:
        counting = ended if ended is not None and finding.still_counts(ended, record, promised, policy) else None
        found = finding.of(counting, facts.probe)
        verdict = judge(promised, found, policy, fresh=counting is None or counting.fresh)
    # A finding of an earlier boot goes with the GPUs that it was made on; others in their place have none.
    same_gpus = finding.same_gpus(record, verdict.model, verdict.count, verdict.ec2_mib)
    keeps = ended is not None and (ended.fresh or verdict.reason in IN_THE_DARK or same_gpus)
    return verdict, ended if keeps else counting


def _words_on_the_node(
    claim: Claim,
    facts: CapacityFacts,
    policy: CapacityPolicy,
    record: CapacityRecord | None,
    ended: Ended | None,
    now: datetime,
) -> tuple[list[Action], list[str]]:
    """The patch and the events, and what the plan says of them besides."""
    node = facts.node
    expected = claim.verdict.probe_wanted or standing.looks_like_nvidia(node, policy)
    if not writing.is_written(claim, node, expected=expected):
        return [], []
    actions: list[Action] = []
    asides: list[str] = []
    asked = facts.spec is not None or node.instance_type is None
    patch = writing.advertise(claim, node, record, ended, now, asked=asked)
    if patch is not None:
        actions.append(patch)
    said = writing.announce(claim, node, policy)
    if said is not None:
        actions.append(said)
    if isinstance(node.record, UnreadableRecord):
        rebuilt = f"our annotation on the node could not be read ({node.record.why}) and is rebuilt"
        asides.append(rebuilt)
        actions.append(Announce(node.key, claim.verdict.reason, rebuilt, warning=True))
    return actions, asides


def sooner(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    """The shorter wait; None: none."""
    waits = [wait for wait in (one, other) if wait is not None]
    return min(waits) if waits else None
