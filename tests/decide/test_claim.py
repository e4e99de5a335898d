"""decide/claim.py: what happens to values that stand on a node, of ours and of others."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.decide.capacity import CapacityFacts, decide, plan
from reconciler.model import names
from reconciler.model.gpu import NoGpu
from reconciler.model.node import InstanceType, NodeView
from reconciler.model.plan import Advertise, Announce
from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu
from reconciler.model.probe_report import ProbeReason
from reconciler.model.probe_state import NotProbed, ProbeFailed
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, UnreadableRecord
from tests.decide.fake_node import NOW, after, facts_of, kinds, node, only, settled
from tests.decide.figures import PROBED_AT, T4, T4_FOUR

POLICY = CapacityPolicy()
LEAVE = CapacityPolicy(existing_value=ExistingValue.LEAVE)
MINE = POLICY.resource
VERIFF = "veriff.com/gpu-memory"
THEIRS = 15079 * MIB
OURS = 14910 * MIB


def standing(view: NodeView, capacity: int | None, allocatable: int | None, resource: str = MINE) -> NodeView:
    """The node with other amounts under this name."""
    return replace(
        view,
        capacity=_with(view.capacity, resource, capacity),
        allocatable=_with(view.allocatable, resource, allocatable),
    )


def _with(amounts: object, resource: str, amount: int | None) -> dict[str, int]:
    kept = {name: value for name, value in dict(amounts).items() if name != resource}  # type: ignore[call-overload]  # a Mapping
    return kept if amount is None else kept | {resource: amount}


def verified(policy: CapacityPolicy = POLICY) -> CapacityFacts:
    """A T4 that has been probed, advertised and taught."""
    facts, _ = settled(facts_of(node(), spec=T4.spec(), probe=T4.probed()), policy)
    return facts


def seen(facts: CapacityFacts, capacity: int | None, allocatable: int | None) -> CapacityFacts:
    return replace(facts, node=standing(facts.node, capacity, allocatable))


@pytest.mark.parametrize(
    ("capacity", "allocatable"),
    [
        (None, None),
        (0, 0),
        (OURS, 0),
        (OURS, None),
        (0, OURS),
        (None, OURS),
        (THEIRS, OURS),
        (OURS, 1),
        (THEIRS, THEIRS),
    ],
)
def test_absent_zero_and_wrong_are_put_right_by_one_patch_of_both(
    capacity: int | None, allocatable: int | None
) -> None:
    what = plan(seen(verified(), capacity, allocatable), POLICY, NOW)

    assert kinds(what) == ["Advertise"]
    assert only(what, Advertise).resources == {MINE: OURS}
    assert what.reason is Reason.VERIFIED


def test_a_kubelet_that_zeroes_is_never_counted_as_a_contest() -> None:
    facts = verified()
    for _ in range(20):
        facts = seen(facts, 0, 0)
        facts, plans = settled(facts, POLICY)

        assert len(plans) == 1
    record = facts.node.record
    assert isinstance(record, CapacityRecord)
    assert record.contest is None


def test_who_overwrites_again_and_again_is_let_win_for_a_while() -> None:
    """Five times within the window the value is put right; then we stop, say so, and try again when it is over."""
    facts = verified()
    for turn in range(POLICY.contest_limit):
        facts, plans = settled(seen(facts, THEIRS, THEIRS), POLICY, NOW + timedelta(minutes=turn))
        assert [what.reason for what in plans] == [Reason.VERIFIED]

    now = NOW + timedelta(minutes=8)
    stopped = plan(seen(facts, THEIRS, THEIRS), POLICY, now)
    assert stopped.reason is Reason.CONTESTED
    assert only(stopped, Advertise).resources == {}
    assert only(stopped, Announce).warning
    assert stopped.revisit == timedelta(minutes=2)
    assert "wrote other values over gpu-reconciler.io/gpu-memory 6 times" in stopped.because

    facts = after(seen(facts, THEIRS, THEIRS), stopped)
    assert plan(facts, POLICY, now + timedelta(minutes=1)).actions == ()
    assert decide(facts, POLICY, now).verdict.mib is None

    facts, plans = settled(facts, POLICY, NOW + timedelta(minutes=10))
    assert [what.reason for what in plans] == [Reason.VERIFIED]
    assert facts.node.capacity[MINE] == OURS


def test_a_slow_dispute_is_no_contest() -> None:
    facts = verified()
    for turn in range(20):
        facts, plans = settled(seen(facts, THEIRS, THEIRS), POLICY, NOW + turn * timedelta(minutes=3))

        assert [what.reason for what in plans] == [Reason.VERIFIED]


def test_a_contest_that_is_given_up_ends_it() -> None:
    facts = verified()
    for _ in range(POLICY.contest_limit + 1):
        facts, _ = settled(seen(facts, THEIRS, THEIRS), POLICY)
    assert decide(facts, POLICY, NOW).plan.reason is Reason.CONTESTED

    facts, plans = settled(seen(facts, None, None), POLICY)

    assert [what.reason for what in plans] == [Reason.VERIFIED]
    assert facts.node.allocatable[MINE] == OURS


def test_a_clock_that_jumps_back_does_not_stop_us_for_long() -> None:
    facts = verified()
    for _ in range(POLICY.contest_limit + 1):
        facts, _ = settled(seen(facts, THEIRS, THEIRS), POLICY, NOW + timedelta(days=365))

    assert plan(facts, POLICY, NOW).reason is Reason.VERIFIED


@pytest.mark.parametrize(("capacity", "allocatable"), [(THEIRS, None), (THEIRS, THEIRS), (OURS, OURS), (0, THEIRS)])
def test_a_foreign_value_is_taken_over_by_default(capacity: int | None, allocatable: int | None) -> None:
    """Their DaemonSet patches capacity only; the kubelet copies it later."""
    facts = facts_of(standing(node(), capacity, allocatable), spec=T4.spec(), probe=T4.probed())
    what = plan(facts, POLICY, NOW)

    assert what.reason is Reason.VERIFIED
    assert "of somebody else are taken over" in what.because
    facts, _ = settled(facts, POLICY)
    assert (facts.node.capacity[MINE], facts.node.allocatable[MINE]) == (OURS, OURS)


@pytest.mark.parametrize(("capacity", "allocatable"), [(THEIRS, None), (THEIRS, THEIRS), (OURS, OURS), (0, THEIRS)])
def test_a_foreign_value_is_left_alone_where_the_policy_says_so(capacity: int | None, allocatable: int | None) -> None:
    facts, plans = settled(facts_of(standing(node(), capacity, allocatable), spec=T4.spec()), LEAVE)

    assert [(what.reason, kinds(what)) for what in plans] == [(Reason.FOREIGN_VALUE, ["Announce", "Advertise"])]
    assert "ours would be 14592 MiB" in plans[0].because
    assert (facts.node.capacity.get(MINE), facts.node.allocatable.get(MINE)) == (capacity, allocatable)
    assert facts.node.condition is not None
    assert facts.node.condition.status == "False"


def test_a_zero_or_nothing_of_others_is_nobodys() -> None:
    for amount in (0, None):
        facts = facts_of(standing(node(), amount, amount), spec=T4.spec())

        assert plan(facts, LEAVE, NOW).reason is Reason.PROVISIONAL


def test_under_the_policy_to_leave_we_step_aside_for_who_overwrites_us_and_come_back_when_he_goes() -> None:
    facts = verified(LEAVE)
    facts, plans = settled(seen(facts, THEIRS, OURS), LEAVE)
    assert [what.reason for what in plans] == [Reason.FOREIGN_VALUE]
    assert (facts.node.capacity[MINE], facts.node.allocatable[MINE]) == (THEIRS, OURS)

    facts, plans = settled(seen(facts, THEIRS, THEIRS), LEAVE)
    assert plans == []

    facts, plans = settled(seen(facts, None, None), LEAVE)
    assert [what.reason for what in plans] == [Reason.VERIFIED]


def test_running_pods_keep_what_they_hold_and_nothing_is_added() -> None:
    """A value below the sum of requests fails pods at the kubelet's next restart; one above admits more of them."""
    facts, _ = settled(facts_of(node(), spec=T4.spec(), requested=14400 * MIB), POLICY)
    assert facts.node.capacity[MINE] == 14592 * MIB
    small = CapacityPolicy(margin_mib=2000)
    facts = replace(facts, probe=T4.probed())

    facts, plans = settled(facts, small)
    assert plans[0].reason is Reason.WOULD_OVERCOMMIT
    assert "12910 MiB would be right, but running pods hold 14400" in plans[0].because
    assert plans[0].revisit == small.probe_poll
    assert only(plans[0], Announce).warning
    assert facts.node.capacity[MINE] == 14400 * MIB

    facts, _ = settled(replace(facts, requested=13000 * MIB + 1), small)
    assert facts.node.capacity[MINE] == 13001 * MIB

    facts, plans = settled(replace(facts, requested=12910 * MIB), small)
    assert plans[-1].reason is Reason.VERIFIED
    assert facts.node.capacity[MINE] == 12910 * MIB


def test_a_figure_that_what_runs_fits_into_is_lowered_at_once() -> None:
    facts, _ = settled(facts_of(node(), spec=T4.spec(), requested=12000 * MIB), POLICY)
    facts, _ = settled(replace(facts, probe=T4.probed()), CapacityPolicy(margin_mib=2000))

    assert facts.node.capacity[MINE] == 12910 * MIB


def test_a_renamed_resource_is_replaced_in_one_patch() -> None:
    facts = verified(CapacityPolicy(resource=VERIFF))
    what = plan(facts, POLICY, NOW)

    assert only(what, Advertise).resources == {VERIFF: None, MINE: OURS}
    facts, _ = settled(facts, POLICY)
    assert VERIFF not in {*facts.node.capacity, *facts.node.allocatable}


def test_a_former_name_that_others_use_now_is_theirs() -> None:
    facts = verified(CapacityPolicy(resource=VERIFF))
    facts = replace(facts, node=standing(facts.node, THEIRS, OURS, VERIFF))

    assert only(plan(facts, POLICY, NOW), Advertise).resources == {MINE: OURS}


def test_a_former_name_that_was_zeroed_is_removed() -> None:
    facts = verified(CapacityPolicy(resource=VERIFF))
    facts = replace(facts, node=standing(facts.node, 0, 0, VERIFF))

    assert only(plan(facts, POLICY, NOW), Advertise).resources == {VERIFF: None, MINE: OURS}


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/gpu", "hugepages-2Mi", "amd.com/gpu"])
def test_a_record_that_claims_what_can_never_be_ours_is_not_believed(resource: str) -> None:
    facts = verified()
    assert isinstance(facts.node.record, CapacityRecord)
    edited = replace(facts.node, record=replace(facts.node.record, resource=resource))
    zeroed = standing(edited, 0, 0, resource)

    assert resource not in only(plan(replace(facts, node=zeroed), POLICY, NOW), Advertise).resources


def withdrawn(facts: CapacityFacts, reason: Reason, policy: CapacityPolicy = POLICY) -> NodeView:
    facts, plans = settled(facts, policy)
    assert [what.reason for what in plans] == [reason]
    assert only(plans[0], Advertise).resources == {MINE: None}
    assert facts.node.condition is not None
    assert (facts.node.condition.status, facts.node.condition.reason) == ("False", reason.value)
    assert not set(names.OUR_LABELS) & facts.node.labels.keys()
    assert isinstance(facts.node.record, CapacityRecord)
    assert facts.node.record.advertised_mib is None
    return facts.node


def test_what_must_not_be_advertised_is_removed_with_labels_and_never_set_to_zero() -> None:
    broken = ProbeFailed(ProbeReason.GPU_LOST, "Xid 79", NOW)
    view = withdrawn(replace(verified(), probe=broken), Reason.NO_NVML)

    assert view.capacity.get(MINE, "absent") == "absent"
    withdrawn(replace(verified(), spec=NoGpu(InstanceType("m5.large"))), Reason.NO_GPU)
    four = facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed())
    four, _ = settled(four, CapacityPolicy(multi_gpu=MultiGpu.SUM))
    withdrawn(four, Reason.MULTI_GPU)


def test_a_zero_that_a_kubelet_made_of_ours_is_removed_too() -> None:
    broken = ProbeFailed(ProbeReason.GPU_LOST, "Xid 79", NOW)

    withdrawn(replace(seen(verified(), 0, 0), probe=broken), Reason.NO_NVML)


def test_a_foreign_value_is_not_withdrawn() -> None:
    broken = ProbeFailed(ProbeReason.GPU_LOST, "", PROBED_AT)
    for facts in (
        facts_of(standing(node(), THEIRS, THEIRS), spec=T4.spec(), probe=broken),
        replace(seen(verified(), THEIRS, THEIRS), probe=replace(broken, at=NOW)),
    ):
        what = plan(facts, POLICY, NOW)

        assert what.reason is Reason.NO_NVML
        assert only(what, Advertise).resources == {}


def test_withdrawn_comes_back_when_the_probe_says_so() -> None:
    broken = ProbeFailed(ProbeReason.DRIVER_NOT_LOADED, "", PROBED_AT)
    facts, _ = settled(facts_of(node(), spec=T4.spec(), probe=broken), POLICY)
    facts, plans = settled(replace(facts, probe=T4.probed(at=NOW)), POLICY)

    assert [what.reason for what in plans] == [Reason.VERIFIED]
    assert facts.node.capacity[MINE] == OURS


@pytest.mark.parametrize(("policy", "reason"), [(POLICY, Reason.VERIFIED), (LEAVE, Reason.FOREIGN_VALUE)])
def test_where_the_record_cannot_be_read_the_policy_says_whose_the_value_is(
    policy: CapacityPolicy, reason: Reason
) -> None:
    facts = verified()
    edited = replace(standing(facts.node, THEIRS, THEIRS), record=UnreadableRecord("field v is missing"))
    facts, plans = settled(replace(facts, node=edited), policy)

    assert plans[0].reason is reason
    assert isinstance(facts.node.record, CapacityRecord)


def test_ignorance_withdraws_nothing() -> None:
    """A broken record on a node whose type nobody knows any more: the value stays, and stays ours."""
    facts = verified()
    edited = replace(facts.node, record=UnreadableRecord("field v is missing"), instance_type=None)
    facts, plans = settled(replace(facts, node=edited, spec=None, learned=None, probe=NotProbed()), POLICY)

    assert [what.reason for what in plans] == [Reason.NO_INSTANCE_TYPE]
    patch = only(plans[0], Advertise)
    assert (patch.resources, patch.labels) == ({}, {})
    assert isinstance(facts.node.record, CapacityRecord)
    assert facts.node.record.advertised_mib == 14910
