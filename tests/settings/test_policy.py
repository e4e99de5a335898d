from dataclasses import fields
from datetime import timedelta

from reconciler.model.node import InstanceType
from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu, Override
from reconciler.settings.load import load
from reconciler.settings.policy import capacity_policy


def test_default_settings_make_the_default_policy() -> None:
    assert capacity_policy(load({})) == CapacityPolicy()


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
