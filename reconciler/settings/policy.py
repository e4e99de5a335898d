"""Which of the settings may decisions see?"""

from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.policy import CapacityPolicy, Override, SlicingPolicy, SlicingRule
from reconciler.settings.root import Settings
from reconciler.settings.slicing import SharingRule


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


def slicing_policy(settings: Settings) -> SlicingPolicy:
    """The knobs of decide/slicing, as plain values."""
    slicing = settings.slicing
    return SlicingPolicy(
        rules=tuple(_rule(rule) for rule in slicing.rules),
        gpu_resource=settings.capacity.gpu_resource,
        config_map=f"{slicing.plugin_namespace}/{slicing.config_map}",
        later=slicing.later,
        fence_for=slicing.fence_for,
        mounted_after=slicing.mounted_after,
        follow_within=slicing.follow_within,
        contest_limit=slicing.contest_limit,
        contest_window=slicing.contest_window,
        restart_plugin=slicing.restart_plugin,
        most_restarts=slicing.most_restarts,
        remove_stale=slicing.remove_stale,
    )


def _rule(rule: SharingRule) -> SlicingRule:
    return SlicingRule(
        wanted=rule.wanted(),
        name=rule.name or "",
        labels=rule.labels,
        instance_types=frozenset(InstanceType(name) for name in rule.instance_types),
        families=frozenset(rule.families),
        gpu_models=frozenset(rule.gpu_models),
        capacity_types=frozenset(CapacityType(name) for name in rule.capacity_types),
        node_pools=frozenset(rule.node_pools),
    )
