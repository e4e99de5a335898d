"""decide/verifying_at_join.py: when a node is verified by itself, and when it is left alone."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from reconciler.decide.verifying_at_join import JoinPlan, plan
from reconciler.model import names, verification_record
from reconciler.model.node import NodeView
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import UnreadableRecord
from reconciler.model.trial import Running, Trial, Unscheduled
from reconciler.model.verification import VerifyPolicy, VerifyReason
from reconciler.model.verification_record import Result, VerificationRecord
from tests.decide.verifying_situations import A10G, AT, DISRUPTED, GPU, T4, condition, node, offers, saw, sharing

NOW = AT + timedelta(hours=1)
POLICY = VerifyPolicy()
ENDED = AT + timedelta(minutes=30)
UNDER_WAY = Trial("gpu-verify-1", Running())
GOOD = Trial("gpu-verify-1", saw(T4), ENDED)
BAD = Trial("gpu-verify-1", saw(A10G), ENDED)
FULL = Trial("gpu-verify-1", Unscheduled("0/1 nodes are available"), ENDED, late=True)
VERIFIED = VerificationRecord("boot-1", ENDED, Result.VERIFIED)
FAILED = VerificationRecord("boot-1", ENDED, Result.FAILED, ("model", "memory"))
BEFORE = VerificationRecord("boot-0", ENDED, Result.VERIFIED)


def shape(found: JoinPlan) -> list[str]:
    """What is done, by kind."""
    done = [("order", found.order), ("tell", found.tell), ("write", found.write)]
    return [word for word, what in done if what is not None]


@dataclass(frozen=True)
class Row:
    name: str
    node: NodeView
    trial: Trial | None
    does: list[str]
    says: str
    policy: VerifyPolicy = POLICY
    now: datetime = NOW


READY = node()
UNPROBED = VerifyPolicy(probe=False)

ROWS = [
    Row("ready", READY, None, ["order"], "was not verified in this boot"),
    Row("under way", READY, UNDER_WAY, [], "is under way"),
    Row("good", READY, GOOD, ["write"], "a pod got the GPU"),
    Row("bad", READY, BAD, ["tell", "write"], "did not get the GPU that the node promises: model: another GPU"),
    Row("full", READY, FULL, ["tell", "write"], "scheduled: not scheduled before the Job's deadline"),
    Row("good and known", node(verified=VERIFIED), GOOD, [], "verified in this boot"),
    Row("known, its Job gone", node(verified=FAILED), None, [], "failed in this boot"),
    Row("mended", node(verified=FAILED), Trial("j", saw(T4), NOW), ["tell", "write"], "a pod got the GPU"),
    Row("broken", node(verified=VERIFIED), Trial("j", saw(A10G), NOW), ["tell", "write"], "did not get the GPU"),
    Row("of an earlier boot", node(verified=BEFORE), None, ["order"], "was not verified in this boot"),
    Row("unreadable", node(verified=UnreadableRecord("v is missing")), None, ["order"], "was not verified"),
    Row("deleting", node(deleting=True), GOOD, [], "is not there"),
    Row("disrupted", node(taints=DISRUPTED), None, [], "is not there"),
    Row("not ready", node(ready=False), BAD, [], "is not there"),
    Row("no boot", node(boot_id=""), None, [], "is not there"),
    Row("no GPU", offers({"cpu": 4}), None, [], "offers no GPU"),
    Row("the plugin restarts", node(allocatable={GPU: 0}), BAD, [], "offers no GPU"),
    Row("no condition", node(condition=None), None, [], "conditions are not True"),
    Row("unknown", node(condition=condition("NoNVML", true=False)), None, [], "conditions are not True"),
    Row("on purpose", node(condition=condition(Reason.MULTI_GPU, true=False)), None, ["order"], "is ready"),
    Row("unprobed", node(condition=condition("Provisional", true=True)), None, [], "conditions are not True"),
    Row("learned", node(condition=condition("Learned", true=True)), None, [], "conditions are not True"),
    Row("all that is", node(condition=condition("Learned", true=True)), None, ["order"], "is ready", UNPROBED),
    Row("switching", node(sharing_condition=sharing(SharingReason.SWITCHING, true=False)), None, [], "are not True"),
    Row("left", node(sharing_condition=sharing(SharingReason.FOREIGN_LABEL, true=False)), None, ["order"], "is ready"),
    Row("sliced", node(sharing_condition=sharing(SharingReason.SLICED)), None, ["order"], "is ready"),
    Row("just now", READY, None, [], "have just become True", now=AT + timedelta(seconds=5)),
    Row("in the future", READY, None, [], "have just become True", now=AT - timedelta(days=1)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_node_is_verified_once_a_boot_when_it_is_ready(row: Row) -> None:
    found = plan(row.node, row.trial, row.policy, row.now)
    assert (shape(found), row.says in found.because) == (row.does, True), found
    assert found.quiet is (row.does == [])


@pytest.mark.parametrize("trial", [GOOD, BAD, FULL], ids=["good", "bad", "full"])
def test_what_is_written_makes_the_next_look_quiet(trial: Trial) -> None:
    """Also after a restart: what the annotation reads back as is all that is needed."""
    found = plan(READY, trial, POLICY, NOW)
    assert found.write is not None
    text = found.write.annotations[names.VERIFIED]
    assert text is not None
    again = node(verified=verification_record.parse(text))
    assert plan(again, trial, POLICY, NOW).quiet
    assert plan(again, None, POLICY, NOW).quiet


def test_a_failure_is_a_warning_unless_the_node_is_only_full() -> None:
    told = [plan(READY, trial, POLICY, NOW).tell for trial in (BAD, FULL)]
    assert [(event.reason, event.warning) for event in told if event is not None] == [
        (VerifyReason.FAILED, True),
        (VerifyReason.FAILED, False),
    ]


def test_waits_are_short_and_the_clock_that_runs_ahead_holds_nothing_up_for_ever() -> None:
    assert plan(READY, None, POLICY, AT + timedelta(seconds=5)).revisit == timedelta(seconds=10)
    assert plan(READY, None, POLICY, AT - timedelta(days=1)).revisit == POLICY.settle
    assert plan(READY, UNDER_WAY, POLICY, NOW).revisit == POLICY.poll


def test_the_order_names_the_boot_and_what_the_node_offers() -> None:
    order = plan(READY, None, POLICY, NOW).order
    assert order is not None
    assert (order.node, order.boot_id, order.serial, dict(order.asks)) == (
        READY.key, "boot-1", 0, {GPU: 1, names.MEMORY_RESOURCE: 64 * 2**20},
    )  # fmt: skip
