"""decide/launchable.py and type_labels.py: which of the known types a NodePool may launch."""

from dataclasses import replace

import pytest

from reconciler.decide import type_labels
from reconciler.decide.launchable import launch
from reconciler.model.gpu import GpuSpec
from reconciler.model.node import InstanceType
from reconciler.model.node_pool import Requirement
from tests.decide.paper_overlays import CATEGORY, FAMILY, need, pool, table, types

LABEL = "karpenter.k8s.aws/instance-"


def may(kind: str, *needs: Requirement) -> bool:
    known = table(kind)[InstanceType(kind)]
    return launch(pool("dev", *needs), type_labels.of(InstanceType(kind), known.specs)).may


@pytest.mark.parametrize(
    ("kind", "label", "value"),
    [
        ("g4dn.xlarge", "instance-category", "g"),
        ("gr6.4xlarge", "instance-category", "gr"),
        ("p6-b200.48xlarge", "instance-category", "p"),
        ("g4dn.xlarge", "instance-generation", "4"),
        ("p6-b200.48xlarge", "instance-generation", "6"),
        ("g6e.12xlarge", "instance-family", "g6e"),
        ("p6-b200.48xlarge", "instance-family", "p6-b200"),
        ("g4dn.metal", "instance-size", "metal"),
        ("g5.xlarge", "instance-gpu-name", "a10g"),
        ("g7e.2xlarge", "instance-gpu-name", "rtx-pro-server-6000"),
        ("g5.xlarge", "instance-gpu-manufacturer", "nvidia"),
        ("g4ad.xlarge", "instance-gpu-manufacturer", "amd"),
        ("g5.12xlarge", "instance-gpu-count", "4"),
        ("g5.12xlarge", "instance-gpu-memory", "22888"),
    ],
)
def test_labels_are_those_that_karpenter_for_aws_makes(kind: str, label: str, value: str) -> None:
    known = table(kind)[InstanceType(kind)]
    found = type_labels.of(InstanceType(kind), known.specs)
    assert found[f"karpenter.k8s.aws/{label}"] == {value}


@pytest.mark.parametrize(
    ("kind", "arch"),
    [
        ("g4dn.xlarge", "amd64"),
        ("g5.xlarge", "amd64"),
        ("g6e.xlarge", "amd64"),
        ("p4d.24xlarge", "amd64"),
        ("p6-b200.48xlarge", "amd64"),
        ("g5g.xlarge", "arm64"),
        ("p6e-gb200.36xlarge", "arm64"),
    ],
)
def test_the_architecture_is_in_the_name(kind: str, arch: str) -> None:
    known = table(kind)[InstanceType(kind)]
    assert type_labels.of(InstanceType(kind), known.specs)["kubernetes.io/arch"] == {arch}


def test_a_part_of_a_gpu_counts_as_none_for_karpenter_of_today_and_as_one_some_day() -> None:
    assert may("g6f.large", need(f"{LABEL}gpu-count", "In", "0"))
    assert may("g6f.large", need(f"{LABEL}gpu-count", "Gt", "0"))
    assert not may("g6f.large", need(f"{LABEL}gpu-count", "Gt", "1"))


def test_where_ec2_and_the_table_differ_either_may_be_karpenters_label() -> None:
    spec = table("g5.xlarge")[InstanceType("g5.xlarge")].specs[0]
    asked = replace(spec, model="NVIDIA", ec2_mib=24576)
    labels = type_labels.of(InstanceType("g5.xlarge"), [asked, spec])
    assert labels[f"{LABEL}gpu-memory"] == {"24576", "22888"}
    assert labels[f"{LABEL}gpu-name"] == {"nvidia", "a10g"}


def test_a_type_whose_name_is_not_one_of_ec2s_is_known_by_its_name_only() -> None:
    found = type_labels.of(InstanceType("metal-box"), list[GpuSpec]())
    assert set(found) == {"node.kubernetes.io/instance-type", "kubernetes.io/os"}
    assert launch(pool("dev", need(CATEGORY, "In", "g")), found).unread == (need(CATEGORY, "In", "g"),)


@pytest.mark.parametrize(
    ("needs", "fits"),
    [
        ([], True),
        ([types("g4dn.xlarge", "g5.xlarge")], True),
        ([types("g5.xlarge")], False),
        ([need("beta.kubernetes.io/instance-type", "In", "g5.xlarge")], False),
        ([need(CATEGORY, "In", "g", "p")], True),
        ([need(CATEGORY, "NotIn", "g")], False),
        ([need(FAMILY, "In", "g4dn"), need(f"{LABEL}size", "NotIn", "metal")], True),
        ([need(f"{LABEL}generation", "Gt", "4")], False),
        ([need(f"{LABEL}generation", "Gte", "4"), need(f"{LABEL}generation", "Lt", "6")], True),
        ([need(f"{LABEL}gpu-name", "In", "t4")], True),
        ([need(f"{LABEL}gpu-name", "DoesNotExist")], False),
        ([need(f"{LABEL}gpu-manufacturer", "In", "nvidia"), need(f"{LABEL}gpu-memory", "Gt", "16000")], True),
        ([need(f"{LABEL}gpu-memory", "Lte", "16000")], False),
        ([need("kubernetes.io/arch", "In", "arm64")], False),
        ([need("kubernetes.io/os", "In", "windows")], False),
        ([need("karpenter.sh/capacity-type", "In", "spot")], True),
        ([need("topology.kubernetes.io/zone", "In", "eu-west-1a")], True),
        ([need("team", "In", "vision", "speech")], True),
        ([need(f"{LABEL}cpu", "Lt", "4")], True),
    ],
)
def test_a_g4dn_xlarge_comes_where_no_requirement_about_types_excludes_it(needs: list[Requirement], fits: bool) -> None:
    assert may("g4dn.xlarge", *needs) is fits


def test_labels_of_the_template_are_requirements_too() -> None:
    known = table("g4dn.xlarge")[InstanceType("g4dn.xlarge")]
    labels = type_labels.of(InstanceType("g4dn.xlarge"), known.specs)
    assert launch(pool(labels={"team": "vision"}), labels).may
    assert not launch(pool(labels={FAMILY: "g5"}), labels).may


def test_what_cannot_be_judged_is_named() -> None:
    known = table("g4dn.xlarge")[InstanceType("g4dn.xlarge")]
    labels = type_labels.of(InstanceType("g4dn.xlarge"), known.specs)
    cpu = need(f"{LABEL}cpu", "Lt", "4")
    found = launch(pool("dev", cpu, need("team", "Exists"), need(CATEGORY, "In", "g")), labels)
    assert (found.may, found.unread) == (True, (cpu,))
