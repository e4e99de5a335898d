"""Why does the device plugin not offer what its profile says? From evidence, with what a person can do."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide.offered_slots import OfferedSlots
from reconciler.decide.time_left import remaining
from reconciler.model.plugin import PluginPod
from reconciler.model.quoting import quoted
from reconciler.model.reasons import SharingReason

STEADY = timedelta(minutes=1)
"""A container that failed and was started again counts as failing for so long: in a crash loop it runs for moments."""


@dataclass(frozen=True, slots=True)
class Cause:
    reason: SharingReason
    because: str
    revisit: timedelta | None = None
    """When it may have gone without anybody telling."""


def certain(pod: PluginPod | None, now: datetime) -> Cause | None:
    """What needs no time to be sure of; None: time must tell."""
    if pod is None:
        return None
    manager, plugin = _unsteady(pod.manager_again, now), _unsteady(pod.plugin_again, now)
    if pod.manager_failing and (pod.manager_again is None or manager is not None):
        return Cause(
            SharingReason.CONFIG_MANAGER_FAILING,
            f"the config-manager in {_called(pod)} does not run ({quoted(pod.manager_failing)}): see its log",
            manager,
        )
    if not pod.config_manager:
        return Cause(
            SharingReason.NO_CONFIG_MANAGER,
            f"{_called(pod)} has no config-manager, so nothing follows the label: install the plugin's chart with"
            " config.name (GPU Operator: devicePlugin.config.name)",
        )
    if pod.plugin_failing and (pod.plugin_again is None or plugin is not None):
        return Cause(
            SharingReason.PLUGIN_FAILING,
            f"{_called(pod)} does not run ({quoted(pod.plugin_failing)}): see its log",
            plugin,
        )
    return None


def _unsteady(again: datetime | None, now: datetime) -> timedelta | None:
    return remaining(again, STEADY, now) if again is not None else None


def over_time(pod: PluginPod | None, there: OfferedSlots, profile: str) -> Cause:
    """The plugin had its time."""
    if pod is None:
        return Cause(
            SharingReason.NO_PLUGIN_POD,
            "the device plugin has no pod on this node: see that its DaemonSet selects the node's labels and tolerates"
            " its taints",
        )
    if not pod.ready:
        return Cause(SharingReason.PLUGIN_FAILING, f"{_called(pod)} is not ready: see its events and its log")
    if there.offered == 0 and there.other == 0:
        return Cause(
            SharingReason.NO_GPUS_OFFERED,
            f"{_called(pod)} is ready and offers no GPU (NVIDIA/k8s-device-plugin 1645): delete the pod",
        )
    return Cause(SharingReason.WRONG_COUNT, _wrong_count(pod, there, profile))


def _wrong_count(pod: PluginPod, there: OfferedSlots, profile: str) -> str:
    found = ((there.name, there.offered), (there.other_name, there.other))
    offers = " and ".join(f"{amount} {name}" for name, amount in found if amount)
    if there.other == 0 and there.offered < there.expected and there.offered % there.slices == 0:
        hint = "some of the node's GPUs may be lost, see the pod's log"
    else:
        hint = "what is edited under the name of a profile is not picked up until the pod is deleted; else see its log"
    return f"{_called(pod)} offers {offers}, and profile {profile} makes {there.wanted}: {hint}"


def _called(pod: PluginPod) -> str:
    return f"the plugin's pod {pod.ref.namespace}/{pod.ref.name}"
