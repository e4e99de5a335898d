"""decide/verifying.py: what a node promises, what a pod saw, and the step at which the two part."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.verifying import asks, could_not_be_tried, verify, waits_for, worth_a_try
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.quantity import MIB
from reconciler.model.trial import (
    Answered,
    Bound,
    Died,
    NoImage,
    NoPod,
    NotStarted,
    Reached,
    Refused,
    Running,
    Unscheduled,
)
from reconciler.model.verification import StepName
from reconciler.model.verification_record import Result
from tests.decide.verifying_situations import (
    A10G,
    GPU,
    MEMORY,
    MIG,
    NODE,
    POLICY,
    RECORD,
    ROWS,
    SHARED,
    T4,
    N,
    P,
    Row,
    S,
    node,
    offers,
    saw,
    trial,
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_situation_has_its_step_its_state_and_its_sentence(row: Row) -> None:
    found = verify(row.node, trial(row.reached, late=row.late), POLICY)
    [step] = [step for step in found.steps if step.name is row.step]
    assert (step.state, row.says in step.sentence) == (row.state, True), step
    assert [one.name for one in found.steps] == list(StepName)
    if row.state is S.FAILED:
        assert found.result is Result.FAILED


@pytest.mark.parametrize(
    ("promised", "seen", "same"),
    [
        ("T4", "Tesla T4", True),
        ("T4g", "NVIDIA T4G", True),
        ("T4", "NVIDIA T4G", False),
        ("A10G", "NVIDIA A10G", True),
        ("A100", "NVIDIA A100-SXM4-40GB", True),
        ("L4", "NVIDIA L4-3Q", True),
        ("L4", "NVIDIA L40S", False),
        ("V100", "Tesla V100-SXM2-16GB", True),
        ("H100", "NVIDIA H100 80GB HBM3", True),
        ("RTX PRO Server 6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", True),
        ("RTX-PRO-Server-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", True),
        ("NVIDIA-A10G-SHARED", "NVIDIA A10G", True),
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA H200", False),
    ],
)
def test_ec2s_names_and_labels_are_nvmls_with_words_left_out(promised: str, seen: str, same: bool) -> None:
    record = replace(RECORD, gpu=promised, probe=None)
    found = verify(node(record=record), trial(saw(replace(T4, name=seen))), POLICY)
    [step] = [step for step in found.steps if step.name is N.MODEL]
    assert (step.state is S.OK) is same


def test_a_cause_is_told_once_and_what_stands_behind_it_names_it() -> None:
    found = verify(NODE, trial(Unscheduled("0/1 nodes are available")), POLICY)
    behind = found.steps[list(StepName).index(N.SCHEDULED) + 1 :]
    assert [step.name for step in found.failed] == [N.SCHEDULED]
    assert {(step.state, step.sentence) for step in behind} == {(S.SKIPPED, "not reached: see scheduled")}


def test_two_causes_are_told_both() -> None:
    short = offers({GPU: 1, MEMORY: 14910 * MIB}, labels={names.GFD_REPLICAS: "4"})
    found = verify(short, trial(saw(A10G)), POLICY)
    assert [step.name for step in found.failed] == [N.SLOTS, N.MODEL, N.MEMORY]


def test_without_a_pod_nothing_is_verified() -> None:
    assert verify(NODE, None, POLICY).result is Result.SKIPPED


def test_an_order_that_the_server_refuses_fails_the_step_of_making_it() -> None:
    found = could_not_be_tried(NODE, POLICY, "403 quota")
    assert [(step.name, step.sentence) for step in found.failed] == [
        (N.CREATED, "the Job could not be made: 403 quota")
    ]


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        (NODE, {GPU: 1, MEMORY: P.memory}),
        (offers({SHARED: 4}), {SHARED: 1}),
        (offers({MIG: 2, GPU: 1}), {MIG: 1}),
        (offers({GPU: 0, SHARED: 4, MEMORY: MIB}), {SHARED: 1}),
        (offers({"cpu": 4000}), {}),
        (node(ready=False), {}),
        (node(deleting=True), {}),
    ],
)
def test_the_pod_asks_for_one_of_what_the_node_offers_and_a_little_memory(
    there: NodeView, asked: dict[str, int]
) -> None:
    assert dict(asks(there, POLICY)) == asked


@pytest.mark.parametrize(
    ("there", "worth"),
    [
        (NODE, True),
        (offers({GPU: 0}, record=None), True),
        (offers({"cpu": 1}, record=None, labels={names.GPU_PRESENT: "true"}), True),
        (offers({"cpu": 1}, record=None, labels={names.KARPENTER_GPU_MANUFACTURER: "nvidia"}), True),
        (offers({"cpu": 1}, record=None, labels={names.GFD_COUNT: "2"}), True),
        (offers({"cpu": 1}, record=None, labels={names.GFD_COUNT: "0"}), False),
        (offers({"cpu": 1}, record=None), False),
    ],
)
def test_all_means_whatever_speaks_of_an_nvidia_gpu(there: NodeView, worth: bool) -> None:
    assert worth_a_try(there, POLICY) is worth


def test_only_what_may_still_change_is_waited_for() -> None:
    assert waits_for(None) == ""
    assert waits_for(trial(Unscheduled("0/3 nodes"))) == "waits for a place: 0/3 nodes"
    assert waits_for(trial(NoImage("ErrImagePull", "404"))) == "waits to start: ErrImagePull, 404"
    assert waits_for(trial(Running())) == ""


texts = st.sampled_from(["", "x", "a " * 400, "\ud800"])
reasons = st.none() | st.sampled_from(list(ProbeReason))
gpus = st.builds(
    GpuReading,
    st.integers(0, 3),
    st.sampled_from(["", "Tesla T4", "NVIDIA A10G"]),
    st.sampled_from(["", "GPU-1", "GPU-2"]),
    st.none() | st.integers(0, 2**36),
    st.none() | st.integers(0, 2**30),
    mig=st.none() | st.tuples() | st.just((MigSlice(4864, 2),)),
    error=reasons,
)
reports = st.builds(ProbeReport, gpus=st.lists(gpus, max_size=3).map(tuple), error=reasons, message=texts)
reacheds = st.one_of(
    st.builds(NoPod, texts), st.builds(Unscheduled, texts), st.builds(Bound, texts), st.builds(Refused, texts, texts),
    st.builds(NoImage, texts, texts), st.builds(NotStarted, texts, texts), st.just(Running()),
    st.builds(Died, st.integers(-1, 255), texts), st.builds(Answered, reports),
)  # fmt: skip
amounts = st.dictionaries(
    st.sampled_from([GPU, SHARED, MIG, MEMORY, "cpu"]), st.sampled_from([0, 1, 4, P.memory, 2**45]), max_size=5
)
labels = st.dictionaries(
    st.sampled_from([names.GFD_COUNT, names.GFD_REPLICAS, names.GFD_MEMORY, names.GFD_PRODUCT, names.PLUGIN_CONFIG]),
    st.sampled_from(["", "0", "1", "4", "ts-4", "exclusive", "-1", "9" * 40, "Tesla-T4", "²"]),
)


@given(capacity=amounts, allocatable=amounts, labels=labels, reached=reacheds, late=st.booleans(), known=st.booleans())
def test_every_set_of_facts_has_an_answer_with_every_step(
    capacity: dict[str, int],
    allocatable: dict[str, int],
    labels: dict[str, str],
    reached: Reached,
    late: bool,
    known: bool,
) -> None:
    """Verified is only what a pod answered about exactly one device, and no document fails to be written."""
    there = node(capacity=capacity, allocatable=allocatable, labels=labels, record=RECORD if known else None)
    found = verify(there, trial(reached, late=late), POLICY)
    assert [step.name for step in found.steps] == list(StepName)
    assert all(step.sentence for step in found.steps)
    assert found.to_document()["result"] == found.result.value
    if found.result is Result.VERIFIED:
        assert isinstance(reached, Answered)
        assert len(reached.report.gpus) == 1
