"""decide/slicing.py: what holds for any facts under any policy."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.decide import fencing
from reconciler.decide.sharing_answer import FOLLOWS, UNSAID
from reconciler.decide.slicing import SharingFacts, decide
from reconciler.model import fence, names, sharing_record
from reconciler.model.plan import Advertise, Announce, ClearTaint, RestartPlugin, SetTaint
from reconciler.model.policy import SlicingPolicy
from reconciler.model.sharing import Profile
from reconciler.model.sharing_record import SharingRecord
from tests.decide.any_slicing import GPU, SHARED, facts, policies, ripe
from tests.decide.fake_node import NOW, applied
from tests.decide.slicing_node import after, settled
from tests.decide.slicing_situation import of_kind
from tests.decide.thoroughly import thorough


@thorough
@given(facts, policies, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_a_still_node_comes_to_rest_and_rests_until_its_decision_says_otherwise(
    known: SharingFacts, policy: SlicingPolicy, later: timedelta
) -> None:
    """I5, and totality: every set of facts has an answer, and carrying it out leads to a standstill."""
    known, decisions = settled(known, policy)
    event(decide(known, policy, NOW).reason.value)
    assert all(decision.because for decision in decisions)

    revisit = decide(known, policy, NOW).revisit
    if revisit is not None:
        assert revisit > timedelta(0)
        later = min(later, revisit - timedelta(microseconds=1))
    assert decide(known, policy, NOW + later).actions == ()


@thorough
@given(facts, policies)
def test_only_what_is_ours_is_written_and_taints_stand_alone(known: SharingFacts, policy: SlicingPolicy) -> None:
    """I6, and I8: a turn that comes twice on the same view decides the same."""
    decision = decide(known, policy, NOW)
    assert decision == decide(known, policy, NOW)
    for action in decision.actions:
        match action:
            case Advertise():
                _names_only_ours(known, policy, action)
            case SetTaint(_, taint, keep, version) | ClearTaint(_, taint, keep, version):
                assert decision.actions == (action,)
                assert version == known.node.resource_version
                assert keep == tuple(one for one in known.node.taints if one.key != names.FENCE_TAINT)
                assert names.FENCE_TAINT in (taint, getattr(taint, "key", ""))
                standing = fence.of(known.node.taints)
                assert standing is None or standing.purpose == fence.SLICING, "a fence of somebody else's is touched"
            case RestartPlugin(_, pod):
                assert policy.restart_plugin
                assert known.pods[-1].ref == pod
                assert known.pods[-1].ready
            case Announce(_, reason, message):
                assert reason is decision.reason
                assert message
            case _:
                raise AssertionError(f"{action} is none of sharing's")


def _names_only_ours(known: SharingFacts, policy: SlicingPolicy, patch: Advertise) -> None:
    assert patch.labels.keys() <= {names.PLUGIN_CONFIG}
    assert None not in patch.labels.values()
    assert patch.annotations.keys() <= {names.SHARING_RECORD}
    text = patch.annotations.get(names.SHARING_RECORD)
    assert text is None or isinstance(sharing_record.parse(text), SharingRecord)
    assert patch.condition is None or patch.condition.type == names.SHARING_CONDITION
    assert patch.drop_condition in ("", names.SHARING_CONDITION)
    for name, amount in patch.resources.items():
        assert policy.remove_stale
        assert amount is None
        assert name in (GPU, SHARED, policy.gpu_resource)
        assert known.node.capacity[name] == known.node.allocatable.get(name, 0) == 0


@thorough
@given(ripe | facts, policies)
def test_the_label_is_only_set_to_a_usable_key_with_no_pod_on_the_gpus_and_none_that_may_come(
    known: SharingFacts, policy: SlicingPolicy
) -> None:
    """And from then on the startup taint is held."""
    now = NOW
    for _ in range(4):
        decision = decide(known, policy, now)
        for patch in of_kind(decision.actions, Advertise):
            if names.PLUGIN_CONFIG in patch.labels:
                event(f"labelled, {'startup' if known.node.has_startup_taint else policy.later.value}")
                _may_be_labelled(known, patch, now)
                assert decision.holds, "pods would be let in while the plugin starts anew"
        known, now = after(known, decision), now + fencing.QUIET


def _may_be_labelled(known: SharingFacts, patch: Advertise, now: datetime) -> None:
    key = patch.labels[names.PLUGIN_CONFIG]
    assert known.plugin is not None
    profile = known.plugin.profiles[key or ""]
    assert isinstance(profile, Profile)
    assert not profile.mps
    assert known.held == 0
    standing = fence.of(known.node.taints)
    ends = standing.until if standing is not None and standing.purpose == fence.SLICING else None
    assert known.node.has_startup_taint or standing is not None
    assert known.node.has_startup_taint or ends is None or ends > now
    record = sharing_record.parse(patch.annotations[names.SHARING_RECORD] or "")
    assert isinstance(record, SharingRecord)
    assert (record.profile, record.at) == (key, now)


@thorough
@given(facts, policies)
def test_a_node_at_rest_says_what_was_decided_and_is_true_only_where_it_offers_that(
    known: SharingFacts, policy: SlicingPolicy
) -> None:
    silent = {name for name in ("deleting",) if known.node.deleting}
    known, decisions = settled(known, policy)
    decision = decide(known, policy, NOW)
    condition = known.node.sharing_condition
    if decision.reason in UNSAID:
        assert not decisions or silent or condition is None or not of_kind(decisions[-1].actions, Advertise)
        return
    if condition is None or condition.reason != decision.reason.value:
        # A fence that was set just now: the label, or the words, come in a moment.
        assert decision.revisit is not None
        assert fence.of(known.node.taints) is not None
        return

    assert condition.message == decision.because
    assert condition.status == ("True" if decision.reason in FOLLOWS else "False")
    if decision.reason in FOLLOWS:
        assert decision.holds == ""
        amounts = [known.node.allocatable.get(name, 0) for name in {GPU, SHARED, policy.gpu_resource}]
        assert decision.expected in amounts


@thorough
@given(facts, policies)
def test_the_condition_keeps_the_time_of_its_last_change_of_status(known: SharingFacts, policy: SlicingPolicy) -> None:
    old = known.node.sharing_condition
    for patch in of_kind(decide(known, policy, NOW).actions, Advertise):
        if patch.condition is not None:
            same = old is not None and old.status == patch.condition.status
            assert patch.condition.since == (old.since if old is not None and same else NOW)


@thorough
@given(facts, policies)
def test_a_patch_that_arrives_twice_changes_nothing_more(known: SharingFacts, policy: SlicingPolicy) -> None:
    """I8."""
    for patch in of_kind(decide(known, policy, NOW).actions, Advertise):
        once = applied(known.node, patch)

        assert replace(applied(once, patch), resource_version=once.resource_version) == once
