"""decide/capacity.py: the lives of nodes, as the sentences of their plans."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.decide.capacity import CapacityFacts, plan
from reconciler.model import names
from reconciler.model.gpu import NoGpu, SpecUnknown
from reconciler.model.node import InstanceType, Taint
from reconciler.model.plan import Advertise, Announce, ClearTaint, RunProbe
from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu
from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport
from reconciler.model.probe_state import NotProbed, Probed, ProbeFailed, Probing
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord
from tests.decide.fake_node import NOW, after, facts_of, kinds, node, only, settled
from tests.decide.figures import A10G, L4_FOUR, PROBED_AT, T4, T4_FOUR

POLICY = CapacityPolicy()
OTHERS = (Taint("special", "NoSchedule", "gpu", "2026-01-01T00:00:00Z"), Taint("special", "NoExecute"))
HELD = (OTHERS[0], Taint(names.STARTUP_TAINT, "NoSchedule"), OTHERS[1], Taint(names.STARTUP_TAINT, "NoExecute"))


def told(facts: CapacityFacts, policy: CapacityPolicy = POLICY) -> tuple[CapacityFacts, list[tuple[Reason, list[str]]]]:
    facts, plans = settled(facts, policy)
    return facts, [(what.reason, kinds(what)) for what in plans]


def test_a_join() -> None:
    """Advertised at once, probed, verified, taught, opened to pods; then quiet."""
    facts, story = told(facts_of(node(taints=HELD), spec=T4.spec()))
    assert story == [(Reason.PROVISIONAL, ["Announce", "Advertise", "RunProbe"])]
    assert "stays until the probe has answered" in plan(facts, POLICY, NOW).because

    facts, story = told(replace(facts, probe=Probing(NOW)))
    assert story == []

    facts, story = told(replace(facts, probe=T4.probed()))
    assert story == [(Reason.VERIFIED, ["Announce", "Advertise", "Learn"]), (Reason.VERIFIED, ["ClearTaint"])]
    assert facts.node.taints == OTHERS
    assert facts.node.allocatable[POLICY.resource] == 14910 * MIB

    facts, story = told(replace(facts, probe=NotProbed()))
    assert story == [], "the record remembers the probe when its Job is gone"


def test_an_event_goes_out_before_the_condition_and_stays_due_until_that_says_so() -> None:
    """Whatever else was done meanwhile: people are told at least once, and in the same words."""
    facts = facts_of(node(), spec=T4.spec())
    what = plan(facts, POLICY, NOW)
    assert kinds(what)[0] == "Announce"

    untold = [replace(one, condition=None) if isinstance(one, Advertise) else one for one in what.actions]
    facts = after(facts, replace(what, actions=tuple(untold)))
    again = plan(facts, POLICY, NOW)
    assert only(again, Announce) == only(what, Announce)
    assert only(again, Advertise) == Advertise(facts.node.key, condition=only(what, Advertise).condition)


@pytest.mark.parametrize("probe", [NotProbed(), T4.probed()], ids=["provisional", "verified"])
def test_a_controller_that_has_just_started_leaves_the_words_of_the_one_before_until_it_has_asked_ec2(
    probe: NotProbed | Probed,
) -> None:
    """Where EC2 cannot be asked, the node says why; the new controller knows the figure at once and the why later."""
    policy = replace(POLICY, probe=False)
    before, _ = told(facts_of(node(), spec=T4.builtin(), builtin=T4.builtin(), probe=probe), policy)
    assert before.node.condition is not None
    assert "EC2 could not be asked" in before.node.condition.message

    started = replace(before, spec=None, builtin=replace(T4.builtin(), not_asked_because=""))
    assert told(started, policy)[1] == []
    assert told(replace(started, spec=before.spec), policy)[1] == []

    wrong = replace(started.node, capacity={**started.node.capacity, policy.resource: MIB})
    healed, story = told(replace(started, node=wrong), policy)
    assert [actions for _, actions in story] == [["Advertise"]]
    assert healed.node.capacity == before.node.capacity


def test_the_labels_and_the_record_tell_the_figures() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))

    assert {name: facts.node.labels[name] for name in names.OUR_LABELS} == {
        names.LABEL_MODEL: "T4",
        names.LABEL_MEMORY_MIB: "15360",
        names.LABEL_COUNT: "1",
        names.LABEL_SOURCE: "nvml",
    }
    record = facts.node.record
    assert isinstance(record, CapacityRecord)
    assert (record.advertised_mib, record.gpu, record.count, record.ec2_mib) == (14910, "T4", 1, 16384)
    assert (record.boot_id, record.probe, record.serial) == ("boot-1", T4.probed(), 0)


def test_the_condition_keeps_the_time_of_its_last_change_of_status() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec()))
    later = NOW + timedelta(hours=2)
    facts, _ = settled(replace(facts, probe=T4.probed(at=later)), POLICY, later)
    assert facts.node.condition is not None
    assert (facts.node.condition.reason, facts.node.condition.since) == ("Verified", NOW)

    broken = ProbeFailed(ProbeReason.GPU_LOST, "", later + timedelta(hours=1))
    facts, _ = settled(replace(facts, probe=broken), POLICY, later)
    assert facts.node.condition is not None
    assert (facts.node.condition.reason, facts.node.condition.since) == ("NoNVML", later)


def test_a_reboot_runs_one_probe_and_changes_no_figure_meanwhile() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))
    before = facts.node.capacity[POLICY.resource]
    booted = replace(facts, node=replace(facts.node, boot_id="boot-2"), probe=NotProbed())
    what = plan(booted, POLICY, NOW)

    assert only(what, RunProbe).boot_id == "boot-2"
    assert only(what, Advertise).resources == {}
    facts, _ = told(booted)
    assert facts.node.capacity[POLICY.resource] == before

    facts, story = told(replace(facts, probe=T4.probed(at=NOW)))
    assert story == [(Reason.VERIFIED, ["Announce", "Advertise"])]
    assert isinstance(facts.node.record, CapacityRecord)
    assert (facts.node.record.boot_id, facts.node.record.serial) == ("boot-2", 0)


def test_an_instance_that_was_started_again_as_another_type_forgets_the_old_gpu() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))
    view = replace(facts.node, boot_id="boot-2", instance_type=InstanceType("g5.xlarge"))
    facts, story = told(facts_of(view, spec=A10G.spec()))

    assert story == [(Reason.PROVISIONAL, ["Announce", "Advertise", "RunProbe"])]
    assert facts.node.labels[names.LABEL_MODEL] == "A10G"
    assert isinstance(facts.node.record, CapacityRecord)
    assert facts.node.record.probe is None


def test_a_verdict_without_figures_is_tried_again_ever_later_and_at_last_once_an_hour() -> None:
    """Each try with a name of its own. A driver that a container installs comes minutes after the node."""
    at = NOW
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.DRIVER_NOT_LOADED, "", at)))
    for serial, minutes in enumerate([2, 4, 8, 16, 32, 60, 60], start=1):
        early = plan(facts, POLICY, at + timedelta(minutes=minutes - 1))
        assert (early.actions, early.revisit) == ((), timedelta(minutes=1))
        at += timedelta(minutes=minutes)
        again = plan(facts, POLICY, at)
        assert only(again, RunProbe).serial == serial
        facts = after(facts, again, at)
        ended = replace(facts, probe=ProbeFailed(ProbeReason.DRIVER_NOT_LOADED, "", at))
        facts, _ = settled(ended, POLICY, at)
        facts = replace(facts, probe=NotProbed())


def test_a_try_that_ends_well_ends_the_tries() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)))
    facts, _ = told(replace(facts, probe=T4.probed(at=NOW + timedelta(hours=2))))

    assert plan(facts, POLICY, NOW + timedelta(days=300)).actions == ()
    assert plan(facts, POLICY, NOW + timedelta(days=300)).revisit is None


@pytest.mark.parametrize("earlier", [T4.probed(), ProbeFailed(ProbeReason.DRIVER_NOT_LOADED, "", PROBED_AT)])
def test_a_try_that_says_nothing_does_not_undo_what_an_earlier_one_said(earlier: Probed | ProbeFailed) -> None:
    """The pod of a finished Job was removed while the controller restarted, or a retry found no image."""
    facts, story = told(facts_of(node(), spec=T4.spec(), probe=earlier))
    reason = story[-1][0]
    nothing = ProbeFailed(ProbeReason.BAD_REPORT, "the pod was removed", NOW)
    facts, plans = settled(replace(facts, probe=nothing), POLICY)

    assert {what.reason for what in plans} == {reason}
    assert facts.node.condition is not None
    assert facts.node.condition.reason == reason
    record = facts.node.record
    assert isinstance(record, CapacityRecord)
    assert record.probe == replace(earlier, at=NOW)
    assert record.serial == 1


def test_a_better_answer_of_the_same_job_takes_the_place_of_none() -> None:
    """A Job and its pod come by two watches; the pod's report may arrive after the verdict that there is none."""
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)))
    facts, story = told(replace(facts, probe=T4.probed(at=NOW)))
    assert story[0][0] is Reason.VERIFIED

    _, story = told(replace(facts, probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)))
    assert story == []


@pytest.mark.parametrize("hours", [-100, 0, 100])
def test_a_nodes_clock_neither_delays_the_next_try_nor_hastens_it(hours: int) -> None:
    """The end of the probe is told by the node's clock; how long ago it was, by ours."""
    nothing = ProbeFailed(ProbeReason.TIMEOUT, "", NOW + timedelta(hours=hours))
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=nothing))
    facts = replace(facts, probe=NotProbed())

    early = plan(facts, POLICY, NOW + timedelta(seconds=119))
    assert (early.actions, early.revisit) == ((), timedelta(seconds=1))
    assert kinds(plan(facts, POLICY, NOW + timedelta(seconds=120))) == ["RunProbe"]


@pytest.mark.parametrize("back", [timedelta(seconds=90), timedelta(hours=1), timedelta(days=400)])
def test_our_clock_set_back_delays_the_next_try_by_one_wait_at_most(back: timedelta) -> None:
    """And the try after that one is at its usual time: there is no haste either."""
    wait = timedelta(minutes=2)
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)))
    now = begun = NOW - back
    while not (what := plan(replace(facts, probe=NotProbed()), POLICY, now)).actions:
        assert what.revisit is not None
        now += what.revisit
    assert kinds(what) == ["RunProbe"]
    assert now - begun <= 2 * wait

    again = ProbeFailed(ProbeReason.TIMEOUT, "", NOW + timedelta(seconds=30))
    facts, _ = settled(replace(facts, probe=again), POLICY, now)
    assert plan(facts, POLICY, now).revisit == 2 * wait


def test_the_answer_of_a_later_try_counts_even_if_the_nodes_clock_went_back() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)))
    facts, story = told(replace(facts, probe=T4.probed(at=NOW - timedelta(days=1))))

    assert story[0][0] is Reason.VERIFIED


def test_the_startup_taint_stays_until_the_device_plugin_has_its_gpus() -> None:
    view = node(capacity={"pods": 29, "nvidia.com/gpu": 0}, taints=HELD)
    facts, story = told(facts_of(view, spec=T4.spec(), probe=T4.probed()))
    assert [words for _, words in story] == [["Announce", "Advertise", "Learn"]]
    assert "until the device plugin offers nvidia.com/gpu" in plan(facts, POLICY, NOW).because

    shared = {**facts.node.allocatable, "nvidia.com/gpu.shared": 4}
    facts, story = told(replace(facts, node=replace(facts.node, allocatable=shared)))
    assert [words for _, words in story] == [["ClearTaint"]]


def test_the_startup_taint_stays_while_allocatable_lags_behind() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))
    lagging = {**facts.node.allocatable, POLICY.resource: 0}
    what = plan(replace(facts, node=replace(facts.node, allocatable=lagging, taints=HELD)), POLICY, NOW)

    assert kinds(what) == ["Advertise"]
    assert "until the node shows the figure" in what.because


def test_the_startup_taint_is_written_against_the_list_that_was_read() -> None:
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))
    held = replace(facts.node, taints=HELD, resource_version="99")
    what = plan(replace(facts, node=held), POLICY, NOW)

    assert what.actions == (ClearTaint(held.key, names.STARTUP_TAINT, OTHERS, "99"),)


NO_GPU = NoGpu(InstanceType("m5.large"))
WITHOUT_A_PROBE = CapacityPolicy(probe=False)
FOREIGN = {"pods": 29, "nvidia.com/gpu": 1, POLICY.resource: 1}


@pytest.mark.parametrize(
    ("facts", "policy", "gone"),
    [
        (facts_of(node(), spec=NO_GPU), POLICY, True),
        (facts_of(node(capacity={}), spec=T4_FOUR.spec()), POLICY, True),
        (
            facts_of(node(capacity={}, labels={names.MIG_CONFIG: "a", names.MIG_CONFIG_STATE: "b"}), spec=T4.spec()),
            POLICY,
            True,
        ),
        (facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.TIMEOUT, "", NOW)), POLICY, True),
        (facts_of(node(), spec=T4.spec()), WITHOUT_A_PROBE, True),
        (facts_of(node(capacity=FOREIGN), spec=T4.spec()), CapacityPolicy(existing_value=ExistingValue.LEAVE), True),
        (
            facts_of(node(), spec=L4_FOUR.spec(), probe=L4_FOUR.probed(count=3)),
            CapacityPolicy(multi_gpu=MultiGpu.LARGEST),
            True,
        ),
        (facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.GPU_LOST, "", NOW)), POLICY, False),
        (facts_of(node(), spec=T4.spec(), probe=T4.probed()), CapacityPolicy(margin_mib=20000), False),
        (facts_of(node(), spec=T4.spec(), probe=T4.probed(), requested=15000 * MIB), POLICY, False),
        (facts_of(node(), spec=T4.spec(), probe=Probing(NOW)), POLICY, False),
        (facts_of(node(None)), POLICY, False),
        (facts_of(node()), POLICY, False),
    ],
    ids=[
        "no GPU",
        "several GPUs",
        "MIG",
        "unverified",
        "probes switched off",
        "left to others",
        "largest, one lost",
        "broken GPU",
        "nothing left",
        "overcommitted",
        "probing",
        "no type",
        "type is looked up",
    ],
)
def test_the_startup_taint_goes_from_every_node_that_need_not_wait(
    facts: CapacityFacts, policy: CapacityPolicy, gone: bool
) -> None:
    """A node that gets nothing by decision must not be stuck; one that is broken or unknown must not be opened."""
    held = replace(facts, node=replace(facts.node, taints=HELD))
    facts, _ = settled(held, policy)

    assert facts.node.taints == (OTHERS if gone else HELD)


def test_a_node_without_gpu_that_was_never_ours_only_loses_the_taint() -> None:
    facts, story = told(facts_of(node(taints=HELD), spec=NO_GPU))

    assert story == [(Reason.NO_GPU, ["ClearTaint"])]
    assert facts.node.condition is None


def test_a_node_that_only_the_taint_hinted_at_stays_known_when_the_taint_is_gone() -> None:
    unknown = SpecUnknown(InstanceType("g9.xlarge"), "")
    sliced = Probed(ProbeReport(gpus=(GpuReading(0, mig=()),)), NOW)
    facts, story = told(facts_of(node("g9.xlarge", capacity={}, taints=HELD), spec=unknown, probe=sliced))

    assert story == [(Reason.MIG, ["Announce", "Advertise"]), (Reason.MIG, ["ClearTaint"])]
    assert plan(facts, POLICY, NOW).reason is Reason.MIG


def test_a_node_of_the_same_name_after_the_first_starts_afresh() -> None:
    """A re-created node has neither record nor labels nor condition, and another boot."""
    facts, _ = told(facts_of(node(), spec=T4.spec(), probe=T4.probed()))
    again, story = told(replace(facts, node=node(boot_id="boot-9"), probe=NotProbed()))

    assert story == [(Reason.LEARNED, ["Announce", "Advertise", "RunProbe"])]
    assert again.node.capacity[POLICY.resource] == 14910 * MIB
