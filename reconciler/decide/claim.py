"""Given the verdict and what stands on the node: which value is claimed, healed, left to others or withdrawn?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from reconciler.decide import ownership
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.ownership import Standing
from reconciler.decide.verdict import IN_THE_DARK, NOT_OURS, SILENT, Verdict
from reconciler.model.node import NodeView
from reconciler.model.policy import CapacityPolicy, ExistingValue
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Contest, Source


@dataclass(frozen=True, slots=True)
class Claim:
    verdict: Verdict
    """As judged, or as changed by what stands on the node."""
    resources: Mapping[str, int | None] = field(default_factory=dict)
    """What must be written: base units, None removes."""
    resource: str = ""
    """The name that is owned from now on, with `owned_mib`."""
    owned_mib: int | None = None
    contest: Contest | None = None
    holds: bool = False
    """Whether the node already shows the claimed value, in capacity and allocatable."""
    again_in: timedelta | None = None


def of(
    verdict: Verdict, facts: CapacityFacts, policy: CapacityPolicy, record: CapacityRecord | None, now: datetime
) -> Claim:
    """The claim. `record` is what ownership.remembered made of the annotation."""
    node = facts.node
    contest = record.contest if record is not None and record.resource == policy.resource else None
    if verdict.reason in SILENT or verdict.reason in IN_THE_DARK:
        resource = record.resource if record is not None else policy.resource
        return Claim(verdict, {}, resource, record.advertised_mib if record is not None else None, contest)
    if verdict.reason in NOT_OURS or verdict.mib is None:
        return Claim(verdict, _withdrawn(node, record, policy, keep=False), policy.resource, None, contest)
    verdict = _fitting(verdict, facts.requested)
    wanted = (verdict.mib or 0) * MIB
    there = ownership.standing(node, policy.resource)
    renamed = _withdrawn(node, record, policy, keep=True)
    ours = ownership.owned_amount(record, policy.resource)
    others = [amount for amount in there.amounts if ours is None or amount not in (ours, wanted)]
    if others and policy.existing_value is ExistingValue.LEAVE:
        return Claim(_left_to_others(verdict, policy, others[0]), renamed, policy.resource, None, contest)
    if others and ours is not None:
        contest = _counted(contest, policy, now)
        if contest.count > policy.contest_limit:
            stopped = _stopped(verdict, policy, contest, others[0])
            again = contest.since + policy.contest_window - now
            return Claim(
                stopped, renamed, policy.resource, record.advertised_mib if record else None, contest, False, again
            )
    if others and ours is None:
        verdict = replace(verdict, aside=_joined(verdict.aside, f"{_mib(others[0])} of somebody else are taken over"))
    return _heal(verdict, policy, wanted, there, renamed, contest)


def _heal(
    verdict: Verdict,
    policy: CapacityPolicy,
    wanted: int,
    there: Standing,
    renamed: Mapping[str, int | None],
    contest: Contest | None,
) -> Claim:
    holds = there.equals(wanted)
    resources = dict(renamed) if holds else {**renamed, policy.resource: wanted}
    again = policy.probe_poll if verdict.reason is Reason.WOULD_OVERCOMMIT else None
    return Claim(verdict, resources, policy.resource, verdict.mib, contest, holds, again)


def _fitting(verdict: Verdict, requested: int) -> Verdict:
    """The verdict with a value that running pods fit into.

    Below the sum of their requests, the next restart of the kubelet would fail the youngest of them without grace
    (HandlePodAdditions admits them again). Above it, the scheduler would add pods to a GPU that is too small. So the
    value is exactly what they hold, and follows them down.
    """
    held = -(-requested // MIB)
    if verdict.mib is None or held <= verdict.mib:
        return verdict
    because = (
        f"{verdict.basis}; {verdict.mib} MiB would be right, but running pods hold {held}: that much stays advertised,"
        " so that none of them is hurt and none is added, and follows them down as they end"
    )
    return replace(verdict, reason=Reason.WOULD_OVERCOMMIT, because=because, mib=held)


def _left_to_others(verdict: Verdict, policy: CapacityPolicy, amount: int) -> Verdict:
    because = (
        f"somebody else advertises {_mib(amount)} as {policy.resource} on this node, and capacity.existing_value: leave"
        f" says to let them; ours would be {verdict.mib} MiB"
    )
    return replace(
        verdict,
        reason=Reason.FOREIGN_VALUE,
        because=because,
        mib=None,
        source=Source.NONE,
        labels={},
        probe_wanted=False,
        learn=None,
    )


def _stopped(verdict: Verdict, policy: CapacityPolicy, contest: Contest, amount: int) -> Verdict:
    because = (
        f"somebody wrote other values over {policy.resource} {contest.count} times since"
        f" {contest.since.isoformat(timespec='seconds')}, now {_mib(amount)}, so we stopped for a while; ours would be"
        f" {verdict.mib} MiB. Find who patches this node's status, or set capacity.existing_value: leave"
    )
    return replace(verdict, reason=Reason.CONTESTED, because=because, mib=None, source=Source.NONE)


def _counted(contest: Contest | None, policy: CapacityPolicy, now: datetime) -> Contest:
    """One more overwritten value. The count stops above the limit, so that a stopped contest is a still picture."""
    if contest is None or now - contest.since >= policy.contest_window or contest.since - now > policy.contest_window:
        return Contest(1, now)
    return Contest(min(contest.count, policy.contest_limit) + 1, contest.since)


def _withdrawn(
    node: NodeView, record: CapacityRecord | None, policy: CapacityPolicy, *, keep: bool
) -> dict[str, int | None]:
    """The removal of what we own under a former name, and under the present one unless it is kept."""
    if record is None or (keep and record.resource == policy.resource):
        return {}
    return {record.resource: None} if ownership.removable(node, record, record.resource) else {}


def _mib(amount: int) -> str:
    return f"{amount // MIB} MiB" if amount >= MIB else f"{amount} bytes"


def _joined(one: str, other: str) -> str:
    return f"{one}; {other}" if one else other
