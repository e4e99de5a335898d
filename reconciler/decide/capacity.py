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
from reconciler.model.plan import Action, Announce, Learn, Plan
from reconciler.model.policy import CapacityPolicy
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, UnreadableRecord

__all__ = ["CapacityFacts", "Decision", "decide", "plan"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan together with the verdict it carries out, for those who show both."""

    verdict: Verdict
    plan: Plan


def plan(facts: CapacityFacts, policy: CapacityPolicy, now: datetime) -> Plan:
    """What to do about the node now. Total: every set of facts has an answer."""
    return decide(facts, policy, now).plan


def decide(facts: CapacityFacts, policy: CapacityPolicy, now: datetime) -> Decision:
    """The plan and the verdict behind it."""
    node = facts.node
    record = ownership.remembered(node, policy)
    verdict, ended = _verdict(facts, policy, record)
    claim = claims.of(verdict, facts, policy, record, now)
    verdict = claim.verdict
    if verdict.reason in SILENT:
        again = policy.probe_poll if verdict.reason is Reason.AWAITING_TYPE else None
        return Decision(verdict, Plan(verdict.reason, verdict.because, revisit=again))
    actions, asides = _words_on_the_node(claim, facts, policy, record, ended, now)
    if node.has_startup_taint:
        over = not policy.probe or (ended is not None and ended.fresh)
        waiting = startup.waits_for(claim, node, policy, probe_over=over)
        if waiting:
            asides.append(f"the startup taint stays {waiting}")
        elif not actions:
            # Its own pass: the patch of the status moves the version that the list of taints is written against.
            actions.append(startup.clear(node))
            asides.append("the startup taint is removed")
    probe, look_again = probing.due(facts, policy, verdict, ended, now)
    if probe is not None:
        actions.append(probe)
    if verdict.learn is not None and learning.is_news(verdict.learn, facts.learned):
        actions.append(Learn(verdict.learn))
    actions.sort(key=lambda action: isinstance(action, Announce))
    because = "; ".join(part for part in (verdict.because, verdict.aside, *asides) if part)
    revisit = _sooner(claim.again_in, look_again)
    return Decision(verdict, Plan(verdict.reason, because, tuple(actions), revisit))


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


def _sooner(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    waits = [wait for wait in (one, other) if wait is not None]
    return min(waits) if waits else None
