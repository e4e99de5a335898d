"""aws/builtin.py: every row of the shipped table is sane, and names of families tell what they can."""

import gzip
import json
from collections import defaultdict
from importlib import resources
from typing import Any

import pytest

from reconciler.aws.builtin import Builtin, Row, TableError, builtin, family_of, parse
from reconciler.model.gpu import BuiltinFigure, GpuSpec, NoGpu, SpecUnknown, Vendor
from reconciler.model.node import InstanceType

ROWS = list(builtin())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.figure.instance_type)
def test_every_row_is_sane(row: Row) -> None:
    figure = row.figure

    assert family_of(figure.instance_type)
    assert figure.model
    assert figure.vendor in (Vendor.NVIDIA, Vendor.AMD, Vendor.HABANA)
    assert 1 <= figure.count <= 16
    assert row.partition in (0.125, 0.25, 0.5, 1)
    assert figure.source.startswith("EC2: ")
    assert all(mib is None or 2048 <= mib <= 400_000 for mib in (figure.ec2_mib, figure.nvml_mib))
    assert figure.ec2_mib or figure.nvml_mib
    if figure.ec2_mib and figure.nvml_mib:
        assert abs(figure.nvml_mib - figure.ec2_mib) / figure.ec2_mib < 0.075
    if figure.nvml_mib:
        assert "NVML: " in figure.source
        assert figure.vendor is Vendor.NVIDIA


def test_no_type_has_two_rows() -> None:
    assert len({row.figure.instance_type for row in ROWS}) == len(ROWS) == 84


def test_whole_gpus_of_one_model_and_size_have_one_figure() -> None:
    """The check that catches EC2's self-consistent errors: all L4 are the same L4."""
    figures = defaultdict(set)
    for row in ROWS:
        if row.partition == 1 and row.figure.instance_type != "g5g.metal":  # without ECC, so it shows all its memory
            figures[row.figure.model, row.figure.ec2_mib].add(row.figure.nvml_mib)

    assert all(len(found) == 1 for found in figures.values())
    assert {model for model, _ in figures if sum(1 for name, _ in figures if name == model) > 1} == {"A100", "V100"}


def test_a_row_is_an_answer_without_ec2() -> None:
    row = builtin().row(InstanceType("g6f.large"))
    assert row is not None

    answer = builtin().answer(InstanceType("g6f.large"), "EC2 sleeps")

    assert answer == GpuSpec(
        InstanceType("g6f.large"), "L4", Vendor.NVIDIA, 1, None, row.figure, 0.125, not_asked_because="EC2 sleeps"
    )


@pytest.mark.parametrize(
    ("name", "accelerator"),
    [
        ("inf1.xlarge", "AWS Inferentia"),
        ("inf2.48xlarge", "AWS Inferentia"),
        ("trn1n.32xlarge", "AWS Trainium"),
        ("trn2u.48xlarge", "AWS Trainium"),
        ("dl2q.24xlarge", "Qualcomm AI100"),
        ("vt1.3xlarge", "Xilinx U30"),
        ("f1.2xlarge", "Xilinx FPGA"),
        ("f2.6xlarge", "Xilinx FPGA"),
        ("m7i-flex.large", ""),
        ("c7i.metal-24xl", ""),
        ("u-6tb1.metal", ""),
        ("i4i.xlarge", ""),
        ("d3en.xlarge", ""),
    ],
)
def test_families_without_gpus_are_known_by_name(name: str, accelerator: str) -> None:
    assert builtin().answer(InstanceType(name)) == NoGpu(InstanceType(name), accelerator)


@pytest.mark.parametrize("name", ["g9.xlarge", "gr7.large", "p7.48xlarge", "g5.1024xlarge", "dl3.large", "vt2.large"])
def test_what_may_have_gpus_is_not_guessed(name: str) -> None:
    answer = builtin().answer_or_unknown(InstanceType(name), "nobody may ask")

    assert builtin().answer(InstanceType(name)) is None
    assert isinstance(answer, SpecUnknown)
    assert "nobody may ask" in answer.why
    assert "capacity.overrides" in answer.why


@pytest.mark.parametrize(
    "name", ["Standard_NC6s_v3", "n1-standard-4", "k3s", "", "ecs.gn6i.xlarge", "g5.*", "G5.xlarge"]
)
def test_names_that_are_not_ec2s_are_told(name: str) -> None:
    assert family_of(InstanceType(name)) is None
    assert builtin().answer(InstanceType(name)) is None


def test_names_tell_the_truth_about_every_type_that_ec2_had() -> None:
    """moto ships a copy of EC2's answers: nothing with a GPU is called without one, nothing without is left open."""
    packed = resources.files("moto.ec2.resources").joinpath("instance_types.json.gz").read_bytes()
    types: dict[str, dict[str, Any]] = json.loads(gzip.decompress(packed))
    with_gpu = {name for name, entry in types.items() if "GpuInfo" in entry}
    known = {name: builtin().answer(InstanceType(name)) for name in types}

    assert len(types) > 1000
    assert {name for name in with_gpu if not isinstance(known[name], GpuSpec)} == set()
    assert {name for name in set(types) - with_gpu if not isinstance(known[name], NoGpu)} == set()


@pytest.mark.parametrize(
    ("model", "vendor", "mib", "row"),
    [
        ("L4", Vendor.NVIDIA, 22888, "g6.xlarge"),
        ("l4", Vendor.NVIDIA, 22888, "g6.xlarge"),
        ("L4", Vendor.NVIDIA, 91553, "g6.xlarge"),  # the sum of four, as EC2 had it
        ("A100", Vendor.NVIDIA, 40960, "p4d.24xlarge"),
        ("A100", Vendor.NVIDIA, 81920, "p4de.24xlarge"),
        ("A100", Vendor.NVIDIA, 12345, None),
        ("T4g", Vendor.NVIDIA, 16384, None),  # with ECC or without, nobody knows
        ("T4", Vendor.AMD, 16384, None),
        ("NVIDIA", Vendor.NVIDIA, 144384, None),
    ],
)
def test_a_type_without_a_row_is_compared_with_the_same_gpu(
    model: str, vendor: Vendor, mib: int, row: str | None
) -> None:
    figure = builtin().figure(InstanceType("g99.large"), model, vendor, mib)

    assert (figure.instance_type if figure else None) == row


def test_the_types_own_row_is_taken_whatever_ec2_calls_it() -> None:
    figure = builtin().figure(InstanceType("p5en.48xlarge"), "NVIDIA", Vendor.NVIDIA, 1)

    assert figure is not None
    assert figure.model == "H200"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("g5.xlarge,A10G,nvidia,one,1,22888,23028,me", "line 2.*one"),
        ("g5.xlarge,A10G,voodoo,1,1,22888,23028,me", "line 2.*voodoo"),
        ("g5.xlarge,A10G", "line 2"),
    ],
)
def test_a_broken_row_is_named(row: str, says: str) -> None:
    header = "instance_type,model,vendor,count,partition,ec2_mib,nvml_mib,source\n"

    with pytest.raises(TableError, match=says):
        parse(header + row)


def test_a_good_row_is_read() -> None:
    header = "instance_type,model,vendor,count,partition,ec2_mib,nvml_mib,source\n"
    [row] = parse(header + "g5.xlarge,A10G,nvidia,1,1,22888,,me")

    figure = BuiltinFigure(InstanceType("g5.xlarge"), "A10G", Vendor.NVIDIA, 1, 22888, None, "me")
    assert row == Row(figure, 1.0)
    assert Builtin([row]).row(InstanceType("g5.xlarge")) == row


@pytest.mark.parametrize(
    ("kind", "mib", "partition", "row"),
    [
        ("g4dn.xlarge", 16384, 1.0, "g4dn.xlarge"),
        ("g6f.large", 2861, 0.125, "g6f.large"),
        ("g99.large", 16384, 1.0, "g4dn.xlarge"),
        ("g99.large", 16384, 0.5, None),
        ("g4dn.xlarge", None, 1.0, None),
    ],
    ids=["own", "own slice", "same GPU", "a slice of it", "EC2 did not say"],
)
def test_the_row_beside_an_answer_of_ec2s(kind: str, mib: int | None, partition: float, row: str | None) -> None:
    spec = GpuSpec(InstanceType(kind), "T4", Vendor.NVIDIA, 1, mib, partition=partition)
    figure = builtin().beside(spec)

    assert (figure.instance_type if figure else None) == row
