"""decide/capacity.py: what holds for any facts under any policy."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.capacity import CapacityFacts, decide, plan
from reconciler.decide.explanation import explain
from reconciler.decide.node import NodeFacts, NodePolicy
from reconciler.model import names
from reconciler.model import record as records
from reconciler.model.plan import Advertise, ClearTaint
from reconciler.model.policy import CapacityPolicy, MultiGpu, SlicingPolicy
from reconciler.model.probe_report import GpuReading
from reconciler.model.probe_state import Probed
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord
from tests.decide.any_facts import facts, policies
from tests.decide.fake_node import NOW, after, facts_of, node, settled
from tests.decide.figures import ALL, Gpu
from tests.decide.thoroughly import thorough


@thorough
@given(facts, policies, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_a_still_node_comes_to_rest_in_one_pass_and_rests_until_its_plan_says_otherwise(
    known: CapacityFacts, policy: CapacityPolicy, later: timedelta
) -> None:
    """I5. Only the taint has a pass of its own: its list is written against the version that the patch has made."""
    known, plans = settled(known, policy)
    cleared = any(isinstance(action, ClearTaint) for what in plans for action in what.actions)
    assert len(plans) <= 1 + cleared

    revisit = plan(known, policy, NOW).revisit
    if revisit is not None:
        later = min(later, revisit - timedelta(microseconds=1))
    assert plan(known, policy, NOW + later).actions == ()


@thorough
@given(facts, policies)
def test_no_action_names_what_others_own_writes_zero_or_lowers_under_pods(
    known: CapacityFacts, policy: CapacityPolicy
) -> None:
    """I6, and I8: a turn that comes twice on the same view writes the same."""
    what = plan(known, policy, NOW)
    assert what == plan(known, policy, NOW)
    for action in what.actions:
        if isinstance(action, Advertise):
            _names_only_ours(known, policy, action)
            text = action.annotations.get(names.RECORD)
            assert text is None or isinstance(records.parse(text), CapacityRecord)
            assert all(amount is None or amount >= max(1, known.requested) for amount in action.resources.values())
        if isinstance(action, ClearTaint):
            assert action.keep == tuple(taint for taint in known.node.taints if taint.key != names.STARTUP_TAINT)
            assert len(action.keep) < len(known.node.taints)


def _names_only_ours(known: CapacityFacts, policy: CapacityPolicy, patch: Advertise) -> None:
    record = known.node.record
    former = set(patch.resources) - {policy.resource}
    if former:
        assert isinstance(record, CapacityRecord)
        assert former == {record.resource}
        assert patch.resources[record.resource] is None
        ours = (record.advertised_mib or 0) * MIB
        assert known.node.capacity.get(record.resource, ours) in (0, ours)
        assert record.resource not in {"cpu", names.GPU_RESOURCE}
    assert patch.labels.keys() <= set(names.OUR_LABELS)
    assert patch.annotations.keys() <= {names.RECORD}
    assert patch.condition is None or patch.condition.type == names.CONDITION


@thorough
@given(facts, policies)
def test_a_node_at_rest_shows_what_was_decided_and_every_answer_can_be_explained(
    known: CapacityFacts, policy: CapacityPolicy
) -> None:
    known, _ = settled(known, policy)
    what = explain(NodeFacts(known), NodePolicy(policy, SlicingPolicy()), NOW)
    assert what.because
    assert what.actions == ()
    if what.mib is None:
        assert what.source.value == "none"
        return

    assert known.node.capacity[policy.resource] == known.node.allocatable[policy.resource] == what.mib * MIB
    assert isinstance(known.node.record, CapacityRecord)
    assert (known.node.record.resource, known.node.record.advertised_mib) == (policy.resource, what.mib)
    assert known.node.condition is not None
    assert (known.node.condition.status, known.node.condition.reason) == ("True", what.reason.value)


@thorough
@given(facts, policies)
def test_room_for_new_pods_is_never_more_than_nvml_found(known: CapacityFacts, policy: CapacityPolicy) -> None:
    """I11: above NVML's find, only what runs already is covered, to the MiB."""
    known, _ = settled(replace(known, node=replace(known.node, record=None)), policy)
    verdict = decide(known, policy, NOW).verdict
    if verdict.mib is None or not isinstance(known.probe, Probed):
        return
    found = sum(_usable(gpu) for gpu in known.probe.report.readable)
    if verdict.reason in (Reason.VERIFIED, Reason.MISMATCH, Reason.GPU_LOST):
        assert verdict.mib <= found


def _usable(gpu: GpuReading) -> int:
    return ((gpu.total or 0) - (gpu.reserved or 0)) // MIB


@thorough
@given(st.sampled_from(ALL), policies, st.integers(0, 20000))
def test_what_a_probe_found_bounds_what_is_advertised_whatever_people_say(
    gpu: Gpu, policy: CapacityPolicy, requested: int
) -> None:
    known = facts_of(node(gpu.kind), spec=gpu.spec(), probe=gpu.probed(), requested=requested * MIB)
    known, _ = settled(known, replace(policy, multi_gpu=MultiGpu.SUM))
    advertised = known.node.capacity.get(policy.resource, 0)

    assert advertised <= max(requested, gpu.count * (gpu.nvml_mib - gpu.reserved_mib)) * MIB


@thorough
@given(facts, policies)
def test_a_patch_that_arrives_twice_changes_nothing_more(known: CapacityFacts, policy: CapacityPolicy) -> None:
    """I8."""
    what = plan(known, policy, NOW)
    once = after(known, what)
    patches = tuple(action for action in what.actions if isinstance(action, Advertise))

    assert after(once, replace(what, actions=patches)).node == once.node


def test_the_first_figure_of_every_known_gpu_is_not_above_its_last() -> None:
    """The small number first: raised after the probe, never lowered. By table, by EC2 alone, and with any margin."""
    for gpu in ALL:
        for policy in (
            CapacityPolicy(multi_gpu=MultiGpu.SUM),
            CapacityPolicy(multi_gpu=MultiGpu.SUM, margin_percent=5),
        ):
            last = decide(facts_of(node(gpu.kind), spec=gpu.spec(), probe=gpu.probed()), policy, NOW).verdict.mib
            for spec in (gpu.spec(), gpu.builtin(), gpu.spec(table=False)):
                first = decide(facts_of(node(gpu.kind), spec=spec), policy, NOW).verdict.mib

                assert first is not None
                assert last is not None
                assert first <= last, gpu
