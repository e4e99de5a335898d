"""Which of the settings may decisions see?"""

from reconciler.model.node import InstanceType
from reconciler.model.policy import CapacityPolicy, Override
from reconciler.settings.root import Settings


def capacity_policy(settings: Settings) -> CapacityPolicy:
    """The knobs of decide/capacity, as plain values."""
    capacity, probe = settings.capacity, settings.probe
    return CapacityPolicy(
        resource=capacity.resource,
        gpu_resource=capacity.gpu_resource,
        margin_mib=capacity.margin_mib,
        margin_percent=capacity.margin_percent,
        provisional_margin_mib=capacity.provisional_margin_mib,
        provisional_margin_percent=capacity.provisional_margin_percent,
        tolerance_percent=capacity.tolerance_percent,
        multi_gpu=capacity.multi_gpu,
        existing_value=capacity.existing_value,
        overrides={
            InstanceType(name): Override(
                mib_per_gpu=override.mib_per_gpu,
                margin_mib=override.margin_mib,
                margin_percent=override.margin_percent,
            )
            for name, override in capacity.overrides.items()
        },
        probe=probe.enabled,
        probe_poll=probe.poll,
        probe_retry=probe.retry,
        contest_limit=capacity.contest_limit,
        contest_window=capacity.contest_window,
    )
