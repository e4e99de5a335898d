"""What must be written on a node so that it says what was decided? Only differences: a true node is left alone."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.decide import finding
from reconciler.decide.claim import Claim
from reconciler.decide.finding import Ended
from reconciler.decide.verdict import IN_THE_DARK, NOT_OURS, SILENT, WARNINGS
from reconciler.model import names
from reconciler.model import record as records
from reconciler.model.node import Condition, NodeView
from reconciler.model.plan import Advertise, Announce
from reconciler.model.policy import CapacityPolicy
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Source


def is_written(claim: Claim, node: NodeView, *, expected: bool) -> bool:
    """Whether the node carries anything of this decision. `expected`: there are signs of a GPU of ours."""
    reason = claim.verdict.reason
    if reason in SILENT:
        return False
    if reason in NOT_OURS:
        return _traces(node)
    if reason in IN_THE_DARK:
        return expected or node.record is not None or node.condition is not None
    return True


def advertise(
    claim: Claim, node: NodeView, record: CapacityRecord | None, ended: Ended | None, now: datetime, *, asked: bool
) -> Advertise | None:
    """The one patch that makes the node say it; None where it does already.

    `asked`: EC2's word on the type, or why there is none, is known. Until then words alone are not worth a patch: each
    node would get two of them whenever a controller starts, to the words without EC2 and back.
    """
    labels = _labels(claim, node)
    annotations = _annotation(claim, node, record, ended, now)
    condition = _condition(claim, node, now)
    needless = condition is None or (not asked and _same_answer(condition, node.condition))
    if needless and not (claim.resources or labels or annotations):
        return None
    return Advertise(node.key, claim.resources, labels, annotations, condition)


def announce(claim: Claim, node: NodeView, policy: CapacityPolicy) -> Announce | None:
    """The event for people, where the answer is another than the node gave before.

    The condition remembers what was told, so the event goes out before the patch that changes it: whatever fails or
    dies in between, it is due again, and within the hour it is the same event.
    """
    verdict = claim.verdict
    if node.condition is not None and node.condition.reason == verdict.reason:
        return None
    chosen = verdict.reason is Reason.UNVERIFIED and not policy.probe
    return Announce(node.key, verdict.reason, verdict.because, warning=verdict.reason in WARNINGS and not chosen)


def _traces(node: NodeView) -> bool:
    return (
        node.record is not None or node.condition is not None or any(name in node.labels for name in names.OUR_LABELS)
    )


def _labels(claim: Claim, node: NodeView) -> Mapping[str, str | None]:
    if claim.verdict.reason in IN_THE_DARK:
        return {}
    wanted = claim.verdict.labels
    return {name: wanted.get(name) for name in names.OUR_LABELS if node.labels.get(name) != wanted.get(name)}


def _annotation(
    claim: Claim, node: NodeView, record: CapacityRecord | None, ended: Ended | None, now: datetime
) -> Mapping[str, str | None]:
    verdict = claim.verdict
    old = record if verdict.reason in IN_THE_DARK else None
    wanted = CapacityRecord(
        resource=claim.resource,
        advertised_mib=claim.owned_mib,
        source=old.source if old is not None else verdict.source if claim.owned_mib is not None else Source.NONE,
        gpu=old.gpu if old is not None else verdict.model,
        count=old.count if old is not None else verdict.count,
        ec2_mib=old.ec2_mib if old is not None else verdict.ec2_mib,
        boot_id=ended.boot_id if ended is not None else "",
        probe=ended.probe if ended is not None else None,
        contest=claim.contest,
        serial=ended.serial if ended is not None else 0,
        seen=finding.first_seen(ended, record, now) if ended is not None else None,
    )
    text = wanted.to_json()
    return {} if records.parse(text) == node.record else {names.RECORD: text}


def _same_answer(one: Condition, other: Condition | None) -> bool:
    return other is not None and (one.status, one.reason) == (other.status, other.reason)


def _condition(claim: Claim, node: NodeView, now: datetime) -> Condition | None:
    verdict, old = claim.verdict, node.condition
    status = "True" if verdict.mib is not None else "False"
    if old is not None and (old.status, old.reason, old.message) == (status, verdict.reason.value, verdict.because):
        return None
    since = old.since if old is not None and old.status == status else now
    return Condition(names.CONDITION, status, verdict.reason.value, verdict.because, since)
