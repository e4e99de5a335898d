from dataclasses import fields
from datetime import timedelta

import pytest

from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.policy import (
    CapacityPolicy,
    ExistingValue,
    Later,
    MultiGpu,
    Override,
    SlicingPolicy,
    SlicingRule,
)
from reconciler.model.sharing import Exclusive, MemoryPerSlice, Named, Replicas, Wanted
from reconciler.settings.load import load
from reconciler.settings.policy import capacity_policy, slicing_policy


def test_default_settings_make_the_default_policy() -> None:
    assert capacity_policy(load({})) == CapacityPolicy()
    assert slicing_policy(load({})) == SlicingPolicy()


def test_every_knob_of_the_policy_can_be_set() -> None:
    """Each field differs from its default, so that a forgotten one shows."""
    given = {
        "CAPACITY__RESOURCE": "veriff.com/gpu-memory",
        "CAPACITY__GPU_RESOURCE": "nvidia.com/gpu.shared",
        "CAPACITY__MARGIN_MIB": "1",
        "CAPACITY__MARGIN_PERCENT": "2",
        "CAPACITY__PROVISIONAL_MARGIN_MIB": "3",
        "CAPACITY__PROVISIONAL_MARGIN_PERCENT": "4",
        "CAPACITY__TOLERANCE_PERCENT": "6",
        "CAPACITY__MULTI_GPU": "largest",
        "CAPACITY__EXISTING_VALUE": "leave",
        "CAPACITY__OVERRIDES": '{"g4dn.xlarge": {"mib_per_gpu": 7, "margin_mib": 8, "margin_percent": 9}}',
        "CAPACITY__CONTEST_LIMIT": "10",
        "CAPACITY__CONTEST_WINDOW": "11m",
        "PROBE__ENABLED": "false",
        "PROBE__POLL": "12s",
        "PROBE__RETRY": "13m",
    }
    policy = capacity_policy(load({f"GPU_RECONCILER_{name}": value for name, value in given.items()}))
    assert policy == CapacityPolicy(
        resource="veriff.com/gpu-memory",
        gpu_resource="nvidia.com/gpu.shared",
        margin_mib=1,
        margin_percent=2,
        provisional_margin_mib=3,
        provisional_margin_percent=4,
        tolerance_percent=6,
        multi_gpu=MultiGpu.LARGEST,
        existing_value=ExistingValue.LEAVE,
        overrides={InstanceType("g4dn.xlarge"): Override(mib_per_gpu=7, margin_mib=8, margin_percent=9)},
        probe=False,
        probe_poll=timedelta(seconds=12),
        probe_retry=timedelta(minutes=13),
        contest_limit=10,
        contest_window=timedelta(minutes=11),
    )
    default = CapacityPolicy()
    same = [knob.name for knob in fields(CapacityPolicy) if getattr(policy, knob.name) == getattr(default, knob.name)]
    assert same == [], "these knobs have no setting, or this test forgot them"


def test_every_knob_of_sharing_can_be_set() -> None:
    """Each field differs from its default, so that a forgotten one shows."""
    rule = (
        '{"name": "dev", "labels": {"team": "vision"}, "instance_types": ["g5.xlarge"], "families": ["g6"],'
        ' "gpu_models": ["A10G"], "capacity_types": ["spot"], "node_pools": ["dev"], "replicas": 4}'
    )
    given = {
        "CAPACITY__GPU_RESOURCE": "nvidia.com/gpu.shared",
        "SLICING__RULES": f"[{rule}]",
        "SLICING__PLUGIN_NAMESPACE": "gpu-operator",
        "SLICING__CONFIG_MAP": "profiles",
        "SLICING__LATER": "fence",
        "SLICING__FENCE_FOR": "1m",
        "SLICING__MOUNTED_AFTER": "3m",
        "SLICING__FOLLOW_WITHIN": "4m",
        "SLICING__CONTEST_LIMIT": "5",
        "SLICING__CONTEST_WINDOW": "6m",
        "SLICING__RESTART_PLUGIN": "true",
        "SLICING__MOST_RESTARTS": "7",
        "SLICING__REMOVE_STALE": "true",
    }
    policy = slicing_policy(load({f"GPU_RECONCILER_{name}": value for name, value in given.items()}))
    assert policy == SlicingPolicy(
        rules=(
            SlicingRule(
                Replicas(4),
                name="dev",
                labels={"team": "vision"},
                instance_types=frozenset({InstanceType("g5.xlarge")}),
                families=frozenset({"g6"}),
                gpu_models=frozenset({"A10G"}),
                capacity_types=frozenset({CapacityType.SPOT}),
                node_pools=frozenset({"dev"}),
            ),
        ),
        gpu_resource="nvidia.com/gpu.shared",
        config_map="gpu-operator/profiles",
        later=Later.FENCE,
        fence_for=timedelta(minutes=1),
        mounted_after=timedelta(minutes=3),
        follow_within=timedelta(minutes=4),
        contest_limit=5,
        contest_window=timedelta(minutes=6),
        restart_plugin=True,
        most_restarts=7,
        remove_stale=True,
    )
    for given_one, default in ((policy, SlicingPolicy()), (policy.rules[0], SlicingRule(Exclusive()))):
        names = [knob.name for knob in fields(default)]
        same = [name for name in names if getattr(given_one, name) == getattr(default, name)]
        assert same == [], "these knobs have no setting, or this test forgot them"


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ('{"sharing": "exclusive"}', Exclusive()),
        ('{"replicas": 2}', Replicas(2)),
        ('{"memory_per_slice": "4Gi"}', MemoryPerSlice(4096, 16)),
        ('{"memory_per_slice": "5000Mi", "most": 8}', MemoryPerSlice(5000, 8)),
        ('{"profile": "any"}', Named("any")),
    ],
)
def test_each_result_of_a_rule_is_what_decisions_know(rule: str, wanted: Wanted) -> None:
    settings = load({"GPU_RECONCILER_SLICING__RULES": f"[{rule}]"})

    assert slicing_policy(settings).rules == (SlicingRule(wanted),)
