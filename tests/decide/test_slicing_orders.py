"""decide/slicing.py in a world that moves: whatever comes first, it ends alike, and no pod is hurt by us."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from reconciler.model import names
from reconciler.model.policy import Later, SlicingPolicy
from reconciler.model.sharing import Exclusive, MemoryPerSlice, Replicas
from reconciler.model.sharing_record import SharingRecord
from tests.decide.slicing_situation import policy
from tests.decide.slicing_world import GPU, KNOWN, UNKNOWN, World, world

thorough = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[phase for phase in Phase if phase is not Phase.explain],
)

ALL_COMES_WITHIN, PODS_COME_FOR, ENDS_AT = 60, 300, 700
"""Seconds. The last is later than every time of the policy lets anything be."""


def memory_is_known(it: World) -> None:
    it.memory, it.settled = KNOWN, True


def operator_is(it: World, state: str) -> None:
    it.view = replace(it.view, labels={**it.view.labels, names.MIG_CONFIG_STATE: state})


def plugin_comes(it: World) -> None:
    it.start_plugin()


def config_map_is_made(it: World) -> None:
    it.make_config_map()


def kubelet_starts_anew(it: World) -> None:
    it.restart_kubelet()


def plugin_starts_anew(it: World) -> None:
    if it.plugin is not None:
        it.start_plugin()


def somebody_takes_the_label(it: World) -> None:
    if names.PLUGIN_CONFIG in it.view.labels:
        it.write_label("theirs")


Event = Callable[[World], None]
NEEDED: Mapping[str, Event] = {
    "memory": memory_is_known,
    "plugin": plugin_comes,
    "ConfigMap": config_map_is_made,
    "operator busy": lambda it: operator_is(it, "pending"),
}
TROUBLE: Mapping[str, Event] = {
    "kubelet": kubelet_starts_anew,
    "plugin again": plugin_starts_anew,
    "label": somebody_takes_the_label,
}
WANTED = {"ts-4": policy(Replicas(4)), "ts-2": policy(MemoryPerSlice(7000)), "exclusive": policy(Exclusive())}


def played(it: World, times: Mapping[str, int], events: Mapping[str, Event]) -> World:
    it.memory, it.settled, it.config, it.eager_until = UNKNOWN, False, None, PODS_COME_FOR
    due = sorted(times, key=lambda name: times[name])
    while it.second < ENDS_AT:
        while due and times[due[0]] <= it.second:
            events[due.pop(0)](it)
        if it.second == ALL_COMES_WITHIN:
            operator_is(it, "success")
        it.tick()
    return it


JOINS = st.fixed_dictionaries({name: st.integers(0, ALL_COMES_WITHIN - 1) for name in NEEDED})
WORLDS = st.fixed_dictionaries(
    {
        "default": st.sampled_from(["plain", "exclusive", "ts-4"]),
        "posts_at": st.integers(0, 9),
        "bursts_every": st.integers(30, 60),
    }
)
TROUBLES = st.fixed_dictionaries({name: st.integers(0, PODS_COME_FOR) for name in TROUBLE})


def ended_well(it: World, wanted: str) -> None:
    """The same, whatever came first."""
    record, condition = it.view.sharing_record, it.view.sharing_condition
    assert condition is not None
    assert condition.reason == ("Exclusive" if wanted == "exclusive" else "Sliced")
    assert it.view.taints == ()
    assert it.view.allocatable[GPU] == {"exclusive": 1, "ts-2": 2, "ts-4": 4}[wanted]
    if it.labelled or not (wanted == it.default or (wanted == "exclusive" and it.default == "plain")):
        assert it.view.labels[names.PLUGIN_CONFIG] == wanted
        assert isinstance(record, SharingRecord)
        assert record.profile == wanted


@thorough
@given(st.sampled_from(sorted(WANTED)), st.booleans(), JOINS, WORLDS)
def test_a_node_joins_in_any_order_and_no_pod_is_refused(
    wanted: str, startup_taint: bool, times: dict[str, int], knobs: dict[str, object]
) -> None:
    """Neither behind the startup taint nor, later, behind a fence: between label and readiness there is no pod."""
    it = played(world(WANTED[wanted], startup_taint=startup_taint, **knobs), times, NEEDED)
    event(f"{len(it.labelled)} labels, {it.placed > 0} pods")

    ended_well(it, wanted)
    assert it.failed == []
    assert it.surprised == []
    assert len(it.labelled) <= 1
    assert it.placed > 0


@thorough
@given(st.sampled_from(sorted(WANTED)), st.booleans(), JOINS, TROUBLES, st.sampled_from(list(Later)))
def test_trouble_in_any_order_ends_in_the_same_state(
    wanted: str, startup_taint: bool, joins: dict[str, int], troubles: dict[str, int], later: Later
) -> None:
    """Restarts and somebody who writes over our label once. (Where the policy never switches again, theirs stays.)"""
    knobs: SlicingPolicy = replace(WANTED[wanted], later=later)
    it = played(world(knobs, startup_taint=startup_taint), joins | troubles, {**NEEDED, **TROUBLE})
    event(f"{it.said[-1]} after {len(it.labelled)} labels")

    if later is Later.NEVER and it.said[-1] == "NotNow":
        assert not startup_taint or "theirs" in it.view.labels.values()
        return
    ended_well(it, wanted)
    assert it.surprised == []
    assert len(it.labelled) <= 2


@pytest.mark.parametrize("posts_at", range(10))
def test_behind_the_startup_taint_a_default_that_is_right_already_hurts_no_pod(posts_at: int) -> None:
    """The count is the same before and after, and the plugin starts anew in between: only time can tell."""
    times = {"ConfigMap": 0, "operator busy": 0, "plugin": 5, "memory": 40}
    it = played(world(WANTED["exclusive"], posts_at=posts_at, bursts_every=30), times, NEEDED)

    ended_well(it, "exclusive")
    assert it.failed == []


@pytest.mark.parametrize("bursts_every", range(30, 60, 3))
def test_behind_a_fence_a_pod_that_the_scheduler_binds_before_it_hears_of_it_is_seen_first(bursts_every: int) -> None:
    """Pods come in bursts, and the fence goes up in any second of them."""
    times = dict.fromkeys(NEEDED, 0) | {"memory": 59}
    it = played(world(WANTED["ts-2"], startup_taint=False, default="ts-4", bursts_every=bursts_every), times, NEEDED)

    ended_well(it, "ts-2")
    assert it.failed == it.surprised == []
