"""decide/slicing.py: the lives of nodes, as the reasons they give and what is done."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from reconciler.decide.slicing import SharingFacts, decide
from reconciler.decide.wish import replicas_of
from reconciler.model import fence, names
from reconciler.model.node import Taint
from reconciler.model.plan import Advertise, Announce, RestartPlugin, SetTaint
from reconciler.model.policy import Later, SlicingPolicy
from reconciler.model.reasons import Reason
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing import Contender, Exclusive, MemoryPerSlice, Named, PluginConfig, Profile, Replicas
from reconciler.model.sharing_record import SharingRecord
from tests.decide.fake_node import NOW
from tests.decide.slicing_node import after, settled
from tests.decide.slicing_situation import (
    FOUR,
    GPU,
    NAMED,
    SHARED,
    SHIPPED,
    STARTUP,
    WAITING,
    config,
    facts,
    fenced,
    kinds,
    label,
    of_kind,
    only,
    ours,
    policy,
    sliced,
    verdict,
)
from tests.decide.slicing_world import World, world


def told(
    known: SharingFacts, rules: SlicingPolicy = FOUR, now: datetime = NOW
) -> tuple[SharingFacts, list[tuple[str, list[str]]]]:
    """Every decision with actions until there is nothing to do; then the facts."""
    known, decisions = settled(known, rules, now)
    return known, [(decision.reason.value, kinds(decision)) for decision in decisions]


def offering(known: SharingFacts, **amounts: int) -> SharingFacts:
    there = {"cpu": 4000, **{names.GPU_RESOURCE if name == "gpu" else SHARED: one for name, one in amounts.items()}}
    return replace(known, node=replace(known.node, allocatable=there, capacity=there))


def relabelled(known: SharingFacts, value: str | None, writer: str = "kubectl-label") -> SharingFacts:
    labels = {name: text for name, text in known.node.labels.items() if name != names.PLUGIN_CONFIG}
    if value is not None:
        labels[names.PLUGIN_CONFIG] = value
    return replace(known, node=replace(known.node, labels=labels, profile_writer=writer if value else ""))


def test_a_join_behind_the_startup_taint() -> None:
    """Counted by the first figure, corrected by the probe's, the plugin follows, the taint may go; then quiet."""
    by_memory = policy(MemoryPerSlice(4096))
    known = facts(memory=verdict(mib=12000), offers={}, settled=False, taints=STARTUP)
    known, story = told(known, by_memory)
    assert story == [("Switching", ["Announce", "Advertise"])]
    assert known.node.labels[names.PLUGIN_CONFIG] == "ts-2"

    known, story = told(replace(known, memory=verdict(), settled=True), by_memory)
    assert story == [("Switching", ["Advertise"])]
    assert known.node.labels[names.PLUGIN_CONFIG] == "ts-3"
    assert known.node.sharing_record == SharingRecord("ts-3", NOW)

    later = NOW + timedelta(seconds=30)
    known, story = told(offering(known, gpu=3), by_memory, later)
    assert story == [("Sliced", ["Announce", "Advertise"])]
    assert decide(known, by_memory, later).holds == ""
    assert told(known, by_memory, later + timedelta(days=30))[1] == []


def test_a_running_node_is_switched_behind_a_fence_that_goes_when_the_plugin_follows() -> None:
    known, story = told(facts())
    assert story == [("Fenced", ["SetTaint"])]
    assert fence.of(known.node.taints) == fence.Fence(fence.SLICING, NOW + timedelta(minutes=30))

    soon = NOW + timedelta(seconds=3)
    known, story = told(known, now=soon)
    assert story == [("Switching", ["Announce", "Advertise"])]

    late = soon + timedelta(seconds=20)
    known, story = told(offering(known, gpu=4), now=late)
    assert story == [("Sliced", ["Announce", "Advertise"]), ("Sliced", ["ClearTaint"])]
    assert known.node.taints == ()


def test_a_fence_keeps_every_other_taint_in_order() -> None:
    others = (Taint("special", "NoSchedule", "gpu", "2026-01-01T00:00:00Z"), Taint("special", "NoExecute"))
    known = facts(taints=others)
    assert only(decide(known, FOUR, NOW), SetTaint).keep == others

    known, _ = told(known)
    known, _ = told(offering(known, gpu=4), now=NOW + timedelta(seconds=3))
    known, _ = told(known, now=NOW + timedelta(seconds=30))
    assert known.node.taints == others


def test_a_fence_whose_pods_stay_rests_and_comes_again() -> None:
    """Half an hour of no new pods, half an hour of rest, and so on; the label comes when the pods have gone."""
    known, story = told(facts(held=1), WAITING)
    assert story == [("Fenced", ["SetTaint"]), ("Fenced", ["Announce", "Advertise"])]

    deadline = NOW + timedelta(minutes=30)
    assert told(known, WAITING, deadline - timedelta(seconds=1))[1] == []
    known, story = told(known, WAITING, deadline)
    assert story == [("InUse", ["Announce", "Advertise"]), ("InUse", ["ClearTaint"])]
    assert isinstance(known.node.sharing_record, SharingRecord)
    assert known.node.sharing_record.rest == deadline + timedelta(minutes=30)
    assert decide(known, WAITING, deadline).revisit == timedelta(minutes=30)

    again = deadline + timedelta(minutes=30)
    known, story = told(known, WAITING, again)
    assert story == [("Fenced", ["SetTaint"]), ("Fenced", ["Announce", "Advertise"])]
    known, story = told(replace(known, held=0), WAITING, again + timedelta(minutes=1))
    assert story == [("Switching", ["Announce", "Advertise"])]
    assert known.node.sharing_record == SharingRecord("ts-4", again + timedelta(minutes=1))


def test_a_plugin_that_does_not_follow_does_not_keep_the_node_closed_beyond_the_fence() -> None:
    known, _ = told(facts())
    known, _ = told(known, now=NOW + timedelta(seconds=3))
    late = NOW + timedelta(minutes=5)
    known, story = told(known, now=late)
    assert story == [("WrongCount", ["Announce", "Advertise"])]
    assert decide(known, FOUR, late).revisit == timedelta(minutes=25)

    known, story = told(known, now=NOW + timedelta(minutes=30))
    assert story == [("WrongCount", ["ClearTaint"])]
    assert told(known, now=NOW + timedelta(days=1))[1] == []


@pytest.mark.parametrize(
    "change",
    [
        {"settled": False},
        {"memory": verdict(count=0)},
        {"memory": verdict(Reason.UNKNOWN_TYPE, None, 0)},
        {"plugin": PluginConfig(SHIPPED, NOW)},
        {"labels": {names.MIG_CONFIG_STATE: "pending"}},
    ],
    ids=["memory not settled", "no count", "in the dark", "ConfigMap changed", "operator busy"],
)
def test_a_fence_stays_up_to_its_deadline_while_it_may_still_be_needed(change: dict[str, Any]) -> None:
    known = replace(facts(**change), **{name: value for name, value in change.items() if name != "labels"})
    known = replace(known, node=replace(known.node, taints=fenced()))
    by_memory = policy(MemoryPerSlice(4096))
    known, _ = told(known, by_memory)
    assert known.node.taints == fenced()
    assert decide(known, by_memory, NOW).revisit in (timedelta(minutes=25), timedelta(minutes=2))

    known, _ = told(known, by_memory, NOW + timedelta(minutes=25))
    assert known.node.taints != fenced()


def test_a_fight_over_the_label_ends_after_the_second_revert_and_names_who() -> None:
    """Then, when the window is over, one new try."""
    known = facts(label("ts-4"), {GPU: 4}, record=ours(), said=sliced(), taints=STARTUP)
    known, _ = told(known)
    first = NOW + timedelta(minutes=1)
    known, story = told(relabelled(known, "theirs"), now=first)
    assert story == [("Switching", ["Announce", "Advertise"])]
    assert known.node.labels[names.PLUGIN_CONFIG] == "ts-4"

    second = first + timedelta(minutes=5)
    known, story = told(relabelled(known, "theirs", "kubectl-edit"), now=second)
    assert story == [("Reverted", ["Announce", "Advertise"])]
    assert known.node.labels[names.PLUGIN_CONFIG] == "theirs"
    assert isinstance(known.node.sharing_record, SharingRecord)
    assert known.node.sharing_record.contender == Contender("kubectl-edit", 2, first)
    decision = decide(known, FOUR, second)
    assert (decision.holds, decision.revisit) == ("", timedelta(minutes=5))

    known, story = told(known, now=first + timedelta(minutes=10))
    assert story == [("Switching", ["Announce", "Advertise"])]
    known, story = told(relabelled(known, None), now=first + timedelta(minutes=11))
    assert story == [("Reverted", ["Announce", "Advertise"])]


def test_somebody_who_comes_to_want_what_we_want_has_written_our_label() -> None:
    """Else the next change of the rule would look like a revert."""
    known, _ = told(facts(label("ts-4"), {GPU: 4}, record=ours("ts-2"), said=sliced()))

    assert known.node.sharing_record == ours("ts-4")


def test_a_limit_of_one_answers_no_revert_but_tries_again_when_the_window_is_over() -> None:
    once = replace(FOUR, contest_limit=1)
    known = facts(label("theirs"), {GPU: 3}, record=ours(), said=sliced(), taints=STARTUP)
    known, story = told(known, once)
    assert story == [("Reverted", ["Announce", "Advertise"])]
    known, story = told(known, once, NOW + timedelta(minutes=10))
    assert story == [("Switching", ["Announce", "Advertise"])]


def test_a_rule_that_changes_switches_the_node_and_forgets_what_the_last_switch_cost() -> None:
    old = ours(restarts=1, rest=NOW - timedelta(minutes=1), contender=Contender("kubectl", 1, NOW - timedelta(hours=3)))
    known = facts(label("ts-4"), {GPU: 4}, record=old, said=sliced(), taints=STARTUP)
    known, story = told(known, policy(Exclusive()))

    assert story == [("Switching", ["Announce", "Advertise"])]
    assert known.node.sharing_record == SharingRecord("exclusive", NOW, old.contender)


def test_a_node_whose_rule_goes_and_comes_back_knows_its_label_again() -> None:
    """Without the annotation it would take its own label for a stranger's."""
    known, _ = told(facts(label("ts-4"), {GPU: 4}, record=ours(), said=sliced()))
    known, story = told(known, SlicingPolicy())
    assert story == [("NoRule", ["Announce", "Advertise"])]
    assert known.node.sharing_condition is None
    assert known.node.labels[names.PLUGIN_CONFIG] == "ts-4"
    assert known.node.sharing_record == SharingRecord("ts-4")

    known, story = told(known, policy(Replicas(2)))
    assert story == [("Fenced", ["SetTaint"])]


def test_a_node_without_anything_of_ours_is_not_touched_without_a_rule() -> None:
    theirs = facts(label("theirs"), taints=(Taint("special", "NoSchedule"),))

    assert told(theirs, SlicingPolicy())[1] == []


def test_an_annotation_that_somebody_broke_is_rebuilt_and_told() -> None:
    known = facts(label("ts-4"), {GPU: 4}, said=sliced())
    known = replace(known, node=replace(known.node, sharing_record=UnreadableRecord("not JSON")))
    events = of_kind(decide(known, FOUR, NOW).actions, Announce)
    assert any("(not JSON) and is rebuilt" in event.message and event.warning for event in events)

    known, story = told(known)
    assert story == [("Sliced", ["Announce", "Advertise"])]
    assert known.node.sharing_record == SharingRecord("ts-4")
    foreign, _ = told(
        replace(known, node=replace(relabelled(known, "theirs").node, sharing_record=UnreadableRecord("x")))
    )
    assert foreign.node.sharing_record is None
    assert foreign.node.labels[names.PLUGIN_CONFIG] == "theirs"


def test_the_former_name_is_removed_when_only_a_zero_is_left_of_it_and_the_profile_is_ours() -> None:
    """For five minutes the kubelet keeps its capacity: nobody knows yet whether it comes back."""
    removing = replace(NAMED, remove_stale=True)
    known = facts(label("any"), record=ours("any"), said=sliced(), plugin=config(any=Profile(4, renamed=True)))
    at_first = replace(known, node=replace(known.node, capacity={GPU: 1, SHARED: 4}, allocatable={GPU: 0, SHARED: 4}))
    known, _ = told(at_first, removing)
    assert known.node.capacity == {GPU: 1, SHARED: 4}

    known, story = told(offering(known, gpu=0, shared=4), removing)
    assert story == [("Sliced", ["Advertise"])]
    assert GPU not in known.node.capacity
    assert GPU not in known.node.allocatable

    not_ours = replace(known, node=replace(offering(known, gpu=0, shared=4).node, sharing_record=None))
    assert GPU in told(not_ours, removing)[0].node.capacity


def test_a_restart_of_the_plugin_is_counted_before_it_is_done() -> None:
    """A controller that dies in between has spent its budget and not overdrawn it."""
    restarting = replace(FOUR, restart_plugin=True)
    known = facts(label("ts-4"), {GPU: 0}, record=ours(), said=replace(sliced(), status="False"))
    decision = decide(known, restarting, NOW)
    patch = only(decision, Advertise)
    assert decision.actions.index(patch) < decision.actions.index(only(decision, RestartPlugin))
    known = after(known, decision)
    assert known.node.sharing_record == SharingRecord("ts-4", NOW, restarts=1)

    known, story = told(known, restarting)
    assert story == [("Switching", ["Announce", "Advertise"])]
    known, story = told(replace(known, pods=facts().pods), restarting, NOW + timedelta(hours=1))
    assert story == [("NoGPUsOffered", ["Announce", "Advertise"])]


def test_the_memory_going_provisional_after_a_reboot_changes_no_profile() -> None:
    by_memory = policy(MemoryPerSlice(4096))
    known, _ = told(facts(label("ts-3"), {GPU: 3}, record=ours("ts-3"), said=sliced()), by_memory)
    known, story = told(replace(known, settled=False, memory=verdict(mib=14000)), by_memory)

    assert [reason for reason, _ in story] == ["Sliced"]


def seconds_of(it: World, until: int) -> World:
    while it.second < until:
        it.tick()
    return it


def test_the_known_bug_of_the_plugin_is_healed_by_one_restart_where_the_policy_says_so() -> None:
    """k8s-device-plugin 1645, second by second: it is ready, offers nothing, and its pod is deleted once."""
    it = world(replace(FOUR, restart_plugin=True), loses=True)
    it.start_plugin()
    seconds_of(it, 600)

    assert it.said == ["Switching", "NoGPUsOffered", "Switching", "Sliced"]
    assert it.view.taints == ()
    left_alone = world(FOUR, loses=True)
    left_alone.start_plugin()
    assert seconds_of(left_alone, 600).said == ["Switching", "NoGPUsOffered"]
    assert left_alone.view.has_startup_taint


def test_a_policy_that_switches_at_join_only_keeps_a_later_rule_for_the_next_node() -> None:
    never = policy(Replicas(2), later=Later.NEVER)
    known, _ = told(facts(label("ts-4"), {GPU: 4}, record=ours(), said=sliced()), never)

    assert known.node.sharing_condition is not None
    assert known.node.sharing_condition.reason == "NotNow"
    assert known.node.labels[names.PLUGIN_CONFIG] == "ts-4"


def test_a_profile_that_a_person_named_is_followed_whatever_it_is_called() -> None:
    """Starting point B: key `any`, four replicas."""
    known, _ = told(facts(offers={}, plugin=config(any=Profile(4)), taints=STARTUP), policy(Named("any")))
    assert known.node.labels[names.PLUGIN_CONFIG] == "any"

    known, story = told(offering(known, gpu=4), policy(Named("any")), NOW + timedelta(minutes=1))
    assert story == [("Sliced", ["Announce", "Advertise"])]


def test_only_names_of_ours_tell_a_count() -> None:
    said = {
        name: replicas_of(name)
        for name in ("exclusive", "ts-2", "ts-16", "ts-1", "ts-04", "ts-", "ts-x", "ts-²", "any")
    }

    assert {name: count for name, count in said.items() if count} == {"exclusive": 1, "ts-2": 2, "ts-16": 16}
