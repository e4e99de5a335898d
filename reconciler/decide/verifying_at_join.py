"""Should the controller verify a node that joined, and what does it say of the result? Once a boot, then quiet."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide import verifying
from reconciler.model import names
from reconciler.model.node import Condition, NodeView
from reconciler.model.plan import Advertise, Announce
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.trial import RunVerification, Trial
from reconciler.model.verification import StepName, Verification, VerifyPolicy, VerifyReason
from reconciler.model.verification_record import Result, VerificationRecord

_BY_DECISION = frozenset({Reason.MULTI_GPU, Reason.MIG, Reason.FOREIGN_VALUE})
"""The node will not advertise more than it does, and pods may use its GPUs all the same."""

_LEFT_TO_OTHERS = frozenset(
    {
        SharingReason.HOST_PLUGIN,
        SharingReason.MIG,
        SharingReason.MPS,
        SharingReason.FOREIGN_LABEL,
        SharingReason.REVERTED,
        SharingReason.NOT_NOW,
    }
)
"""The node's sharing stays as it is, and pods may use its GPUs all the same."""

_UNPROBED = frozenset({Reason.PROVISIONAL, Reason.LEARNED})
"""Something is advertised already, and the node's own probe has not answered: the driver may be loading."""


@dataclass(frozen=True, slots=True)
class JoinPlan:
    because: str
    order: RunVerification | None = None
    tell: Announce | None = None
    """Goes out before `write`: what the annotation remembers was told."""
    write: Advertise | None = None
    revisit: timedelta | None = None

    @property
    def quiet(self) -> bool:
        return self.order is None and self.tell is None and self.write is None


def plan(node: NodeView, trial: Trial | None, policy: VerifyPolicy, now: datetime) -> JoinPlan:
    """What to do about the verification of the node's present boot. Total: every set of facts has an answer."""
    if node.deleting or node.disrupted or not node.ready or not node.boot_id:
        return JoinPlan("the node is not there to be verified")
    asks = verifying.asks(node, policy)
    if not asks:
        return JoinPlan("the node offers no GPU")
    known = _known(node)
    if trial is not None and trial.ended is None:
        return JoinPlan(f"Job {trial.job} is under way", revisit=policy.poll)
    if trial is not None and trial.ended is not None and (known is None or known.at < trial.ended):
        return _result(node, verifying.verify(node, trial, policy), trial.ended, known)
    if known is not None:
        return JoinPlan(f"{known.result.value} in this boot")
    since = _ready_since(node, policy)
    if since is None:
        return JoinPlan("the node's conditions are not True")
    # A clock that runs ahead must not hold it up for ever.
    wait = min(since + policy.settle - now, policy.settle)
    if wait > timedelta():
        return JoinPlan("the node's conditions have just become True", revisit=wait)
    order = RunVerification(node.key, node.boot_id, asks)
    return JoinPlan("the node is ready and was not verified in this boot", order=order, revisit=policy.poll)


def _result(node: NodeView, found: Verification, ended: datetime, known: VerificationRecord | None) -> JoinPlan:
    record = VerificationRecord(node.boot_id, ended, found.result, tuple(step.name.value for step in found.failed))
    write = Advertise(node.key, annotations={names.VERIFIED: record.to_json()})
    said = "; ".join(f"{step.name.value}: {step.sentence}" for step in found.failed)
    if found.failed:
        # That all GPUs are in use already is no fault of the set-up.
        full = all(step.name is StepName.SCHEDULED for step in found.failed)
        message = f"a pod did not get the GPU that the node promises: {said}"
        return JoinPlan(message, tell=Announce(node.key, VerifyReason.FAILED, message, warning=not full), write=write)
    message = "a pod got the GPU that the node promises"
    mended = known is not None and known.result is Result.FAILED
    return JoinPlan(message, tell=Announce(node.key, VerifyReason.VERIFIED, message) if mended else None, write=write)


def _known(node: NodeView) -> VerificationRecord | None:
    """What is written of this boot. What cannot be read is as good as nothing, and is written over."""
    found = node.verified
    return found if isinstance(found, VerificationRecord) and found.boot_id == node.boot_id else None


def _ready_since(node: NodeView, policy: VerifyPolicy) -> datetime | None:
    """Since when both conditions allow it; None while one does not. A node without a sharing rule has only one."""
    memory, sharing = node.condition, node.sharing_condition
    if memory is None or not (_true(memory) or memory.reason in _BY_DECISION):
        return None
    if policy.probe and memory.reason in _UNPROBED:
        return None
    if sharing is not None and not (_true(sharing) or sharing.reason in _LEFT_TO_OTHERS):
        return None
    return max(memory.since, sharing.since) if sharing is not None else memory.since


def _true(condition: Condition) -> bool:
    return condition.status == "True"
