"""aws/parse.py: each shape of an entry of DescribeInstanceTypes, the odd ones above all."""

from typing import Any

import pytest

from reconciler.aws.builtin import builtin
from reconciler.aws.parse import spec
from reconciler.model.gpu import GpuSpec, NoGpu, SpecAnswer, SpecUnknown, Vendor
from reconciler.model.node import InstanceType

L4 = {"Name": "L4", "Manufacturer": "NVIDIA", "Count": 1, "MemoryInfo": {"SizeInMiB": 22888}}


def answer(instance_type: str, *gpus: dict[str, Any]) -> SpecAnswer:
    return spec({"InstanceType": instance_type, "GpuInfo": {"Gpus": list(gpus)}}, builtin())


def gpu_spec(instance_type: str, *gpus: dict[str, Any]) -> GpuSpec:
    found = answer(instance_type, *gpus)
    assert isinstance(found, GpuSpec)
    return found


def test_a_whole_gpu_comes_with_the_tables_row_beside_it() -> None:
    found = gpu_spec("g6.xlarge", {**L4, "LogicalGpuCount": 1, "GpuPartitionSize": 1.0})

    assert (found.model, found.vendor, found.count, found.ec2_mib) == ("L4", Vendor.NVIDIA, 1, 22888)
    assert found.builtin is not None
    assert (found.builtin.instance_type, found.builtin.nvml_mib) == ("g6.xlarge", 23034)
    assert found.not_asked_because == ""


@pytest.mark.parametrize(
    ("counts", "count"),
    [
        ({"Count": 4}, 4),
        ({"Count": 4, "LogicalGpuCount": 4}, 4),
        ({"Count": 0, "LogicalGpuCount": 1}, 1),
        ({"Count": 4, "LogicalGpuCount": 0}, 4),
        # EC2 does not say; assuming one would advertise a GPU that may not be there.
        ({"Count": 0, "LogicalGpuCount": 0}, 0),
        ({"Count": 0}, 0),
        ({"Count": None}, 0),
    ],
)
def test_the_count_is_the_logical_one_where_there_is_one(counts: dict[str, int], count: int) -> None:
    assert gpu_spec("g6.xlarge", {**L4, **counts}).count == count


def test_a_slice_of_a_gpu_is_told() -> None:
    slice_of = {**L4, "Count": 0, "LogicalGpuCount": 1, "GpuPartitionSize": 0.125, "MemoryInfo": {"SizeInMiB": 2861}}

    found = gpu_spec("g6f.large", slice_of)
    assert (found.count, found.ec2_mib, found.fractional, found.partition) == (1, 2861, True, 0.125)
    assert found.builtin is not None
    assert found.builtin.nvml_mib == 3072

    # A type that the table lacks: no row of a whole L4, nor of another slice, may speak for it.
    assert gpu_spec("g7f.large", slice_of).builtin is None


def test_before_ec2_told_partitions_the_table_did() -> None:
    old = {**L4, "Count": 0, "LogicalGpuCount": 1, "MemoryInfo": {"SizeInMiB": 2861}}

    assert gpu_spec("g6f.large", old).partition == 0.125


def test_a_new_type_of_a_known_gpu_has_that_gpus_row() -> None:
    found = gpu_spec("g8.xlarge", L4)

    assert found.builtin is not None
    assert found.builtin.instance_type == "g6.xlarge"


def test_the_sum_of_all_gpus_given_for_each_stands_beside_the_tables_figure() -> None:
    """g6.12xlarge until 2025-04, consistent with its own total; the two figures are judged elsewhere."""
    found = gpu_spec("g6.12xlarge", {**L4, "Count": 4, "MemoryInfo": {"SizeInMiB": 91553}})

    assert found.builtin is not None
    assert (found.ec2_mib, found.builtin.ec2_mib, found.builtin.nvml_mib) == (91553, 22888, 23034)


@pytest.mark.parametrize(
    ("maker", "vendor"),
    [
        ("NVIDIA", Vendor.NVIDIA),
        ("nvidia", Vendor.NVIDIA),
        ("AMD", Vendor.AMD),
        ("Habana", Vendor.HABANA),
        ("X", Vendor.OTHER),
    ],
)
def test_makers_are_told_apart(maker: str, vendor: Vendor) -> None:
    assert gpu_spec("g99.large", {**L4, "Manufacturer": maker}).vendor is vendor


def test_two_entries_of_one_kind_are_added() -> None:
    assert gpu_spec("g99.large", {**L4, "Count": 2}, {**L4, "Count": 3}).count == 5


def test_two_kinds_of_gpu_are_no_figure() -> None:
    found = answer("g99.large", L4, {**L4, "Name": "T4", "MemoryInfo": {"SizeInMiB": 16384}})

    assert isinstance(found, SpecUnknown)
    assert "L4 with 22888 MiB and T4 with 16384 MiB" in found.why
    assert "capacity.overrides" in found.why


@pytest.mark.parametrize(
    ("gpus", "field"),
    [
        ([], "GpuInfo.Gpus is missing"),
        ("L4", "GpuInfo.Gpus is missing"),
        (None, "GpuInfo.Gpus is missing"),
        (["L4"], r"GpuInfo.Gpus\[0\] is not an object"),
        ([{**L4, "Name": None}], r"GpuInfo.Gpus\[0\].Name"),
        ([{**L4, "Manufacturer": ""}], r"GpuInfo.Gpus\[0\].Manufacturer"),
        ([{**L4, "MemoryInfo": None}], r"GpuInfo.Gpus\[0\].MemoryInfo.SizeInMiB is missing"),
        ([{**L4, "MemoryInfo": {}}], r"MemoryInfo.SizeInMiB is missing"),
        ([{**L4, "MemoryInfo": {"SizeInMiB": 0}}], r"MemoryInfo.SizeInMiB is missing"),
        ([{**L4, "MemoryInfo": {"SizeInMiB": "24 GB"}}], r"MemoryInfo.SizeInMiB is '24 GB'"),
        ([{**L4, "MemoryInfo": {"SizeInMiB": 2**26 + 1}}], r"SizeInMiB is 67108865, not a whole number from 0 to"),
        ([{**L4, "Count": 65}], r"Count is 65, not a whole number from 0 to 64"),
        ([{**L4, "Count": 33}, {**L4, "Count": 33}], r"GpuInfo.Gpus counts 66"),
        ([L4, {**L4, "Count": -1}], r"GpuInfo.Gpus\[1\].Count is -1"),
        ([{**L4, "LogicalGpuCount": True}], r"LogicalGpuCount is True"),
        ([{**L4, "GpuPartitionSize": 2}], r"GpuPartitionSize is 2"),
        ([{**L4, "GpuPartitionSize": 0}], r"GpuPartitionSize is 0"),
    ],
)
def test_a_missing_or_wrong_field_is_named(gpus: Any, field: str) -> None:
    found = spec({"InstanceType": "g6.xlarge", "GpuInfo": {"Gpus": gpus, "TotalGpuMemoryInMiB": 1}}, builtin())

    assert isinstance(found, SpecUnknown)
    assert found.instance_type == "g6.xlarge"
    with pytest.raises(ValueError, match=field):
        raise ValueError(found.why)


@pytest.mark.parametrize(
    ("entry", "accelerator"),
    [
        ({"InstanceType": "m5.large"}, ""),
        ({"InstanceType": "m5.large", "GpuInfo": {}}, ""),
        ({"InstanceType": "inf2.xlarge", "NeuronInfo": {"NeuronDevices": [{"Name": "Inferentia2"}]}}, "AWS Inferentia"),
        ({"InstanceType": "trn2u.48xlarge"}, "AWS Trainium"),
        ({"InstanceType": "new1.large", "NeuronInfo": {"NeuronDevices": [{"Name": "Trainium9"}]}}, "Trainium9"),
        (
            {
                "InstanceType": "new1.large",
                "InferenceAcceleratorInfo": {"Accelerators": [{"Name": "Qualcomm AI100", "Manufacturer": "Qualcomm"}]},
            },
            "Qualcomm AI100",
        ),
        (
            {"InstanceType": "new1.large", "FpgaInfo": {"Fpgas": [{"Name": "VU47P", "Manufacturer": "Xilinx"}]}},
            "Xilinx VU47P",
        ),
        ({"InstanceType": "new1.large", "MediaAcceleratorInfo": {"Accelerators": []}}, "MediaAccelerator"),
        ({"InstanceType": "new1.large", "FpgaInfo": {"Fpgas": [{}]}}, "Fpga"),
    ],
)
def test_other_accelerators_are_no_gpus_and_have_names(entry: dict[str, Any], accelerator: str) -> None:
    assert spec(entry, builtin()) == NoGpu(InstanceType(entry["InstanceType"]), accelerator)


def test_a_type_that_ec2_describes_without_its_gpus_is_known_from_the_table() -> None:
    found = spec({"InstanceType": "p6e-gb200.36xlarge"}, builtin())

    assert isinstance(found, GpuSpec)
    assert (found.count, found.ec2_mib) == (4, None)
    assert "without its GPUs" in found.not_asked_because
