"""decide/figure.py and promise.py: numbers and their sources, at the edges."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide import figure, label, promise
from reconciler.decide.finding import Unfinished
from reconciler.decide.judge import judge
from reconciler.model.policy import CapacityPolicy
from reconciler.model.probe_report import GpuReading
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import Source
from tests.decide.figures import ALL, L4, L4_SLICE, T4, Gpu


@pytest.mark.parametrize("gpu", ALL, ids=lambda gpu: gpu.kind)
def test_every_known_gpu_agrees_with_ec2_within_the_tolerance(gpu: Gpu) -> None:
    assert figure.apart_percent([gpu.reading()], gpu.ec2_mib) <= CapacityPolicy().tolerance_percent


@pytest.mark.parametrize(("gpu", "wrong"), [(L4, 91553), (L4, 183105), (T4, 65536)])
def test_the_known_errors_of_ec2_do_not(gpu: Gpu, wrong: int) -> None:
    assert figure.apart_percent([gpu.reading()], wrong) > CapacityPolicy().tolerance_percent


def test_memory_is_floored_to_whole_mib() -> None:
    gpu = GpuReading(0, total=15360 * MIB + MIB - 1, reserved=450 * MIB)

    assert figure.usable_mib(gpu, CapacityPolicy()) == 14910
    assert figure.usable_mib(GpuReading(0, total=15360 * MIB, reserved=450 * MIB + 1), CapacityPolicy()) == 14909


def test_gpus_of_different_size_are_summed_each_by_itself_and_the_largest_is_told() -> None:
    small = GpuReading(1, total=8192 * MIB, reserved=192 * MIB)
    what = figure.measured([T4.reading(), small], promise.Promise(None), CapacityPolicy(margin_percent=10))

    assert what.gpus == (14910 - 1491, 7200)
    assert (what.total, what.largest_mib, what.source) == (20619, 15360, Source.NVML)


def test_a_figure_of_the_table_says_why_it_is_not_ec2s() -> None:
    """The node's owner learns that a right or a network is missing, and not only that a number is built in."""
    spec = replace(T4.builtin(), not_asked_because="the role lacks ec2:DescribeInstanceTypes: grant it")
    verdict = judge(promise.of(spec, spec.instance_type, None), Unfinished(), CapacityPolicy(), fresh=True)

    assert verdict.reason is Reason.PROVISIONAL
    assert "; the role lacks ec2:DescribeInstanceTypes: grant it; 14592 MiB advertised" in verdict.because


def test_the_row_of_a_whole_gpu_says_nothing_of_a_slice_of_it() -> None:
    slice_of_l4 = promise.of(L4_SLICE.spec(), None, None)
    assert slice_of_l4.builtin == L4_SLICE.row

    borrowed = L4_SLICE.spec(table=False)
    from_whole = type(borrowed)(
        borrowed.instance_type, "L4", borrowed.vendor, 1, 2861, L4.row, partition=borrowed.partition
    )
    assert promise.of(from_whole, None, None).builtin is None


def test_a_row_of_another_type_lends_its_memory_but_not_its_count() -> None:
    spec = L4.spec(count=0)
    borrowed = type(spec)(T4.spec().instance_type, "L4", spec.vendor, 0, None, L4.row)
    promised = promise.of(borrowed, None, None)

    assert (promised.count, promised.builtin) == (None, L4.row)


def test_a_name_that_names_nothing_gives_way_to_the_table() -> None:
    """EC2 called the H200 of p5en.48xlarge `NVIDIA` for months."""
    spec = T4.spec()
    nameless = type(spec)(spec.instance_type, "NVIDIA", spec.vendor, 1, 16384, T4.row)

    assert promise.of(nameless, None, None).model == "T4"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("RTX PRO Server 6000", "RTX-PRO-Server-6000"),
        (" -_T4_- ", "T4"),
        ("Gaudi (HL-205)", "Gaudi-HL-205"),
        ("ß", ""),
        ("x" * 62 + " y", "x" * 62),
    ],
)
def test_a_model_becomes_a_valid_label_value(text: str, value: str) -> None:
    assert label.valid(text) == value


@given(st.text(max_size=100))
def test_no_model_makes_a_label_that_the_api_server_refuses(text: str) -> None:
    value = label.valid(text)

    assert len(value) <= 63
    assert value.isascii()
    assert all(sign.isalnum() or sign in "-_." for sign in value)
    assert value == "" or (value[0].isalnum() and value[-1].isalnum())


@pytest.mark.parametrize(
    ("name", "plain"),
    [("Tesla T4", "T4"), ("NVIDIA A10G", "A10G"), ("NVIDIA Tesla V100", "V100"), ("Quadro", "Quadro"), ("", "")],
)
def test_the_maker_is_no_part_of_a_models_name(name: str, plain: str) -> None:
    assert label.plain_name(name) == plain
