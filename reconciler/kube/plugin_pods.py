"""What does the device plugin's pod on a node say? Whether it runs, whether it follows the label, and why it does not.

NVIDIA's chart and GPU Operator name their containers differently (deployments/helm/nvidia-device-plugin/templates;
assets/state-device-plugin), so a config-manager is known by any of its name, its command and its environment. The
chart gives its other DaemonSets the same labels, so those are known by what they run, and left out.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from reconciler.kube.parse import EPOCH, Odd, moment
from reconciler.kube.probe_views import StateWire
from reconciler.kube.wire import ConditionWire, Meta
from reconciler.model.node import NodeName
from reconciler.model.plugin import PluginPod
from reconciler.model.workload import PodRef

MANAGER = "config-manager"
MANAGER_VARIABLE = "CONFIG_FILE_SRCDIR"
NEIGHBOURS = ("gpu-feature-discovery", "mps-control-daemon")
"""What the chart's other DaemonSets run; both have a config-manager of their own."""

LONGEST = 200
"""Characters of what a container said last: it ends in a condition on the node."""

_STARTING = ("", "ContainerCreating", "PodInitializing")
_PULLING = ("ErrImagePull", "ImagePullBackOff")
_ENDED = ("Succeeded", "Failed")


class VariableWire(Struct, gc=False):
    name: str | None = None


class PluginContainerWire(Struct, gc=False):
    name: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[VariableWire] | None = None


class PluginPodSpec(Struct, rename="camel", gc=False):
    node_name: str | None = None
    containers: list[PluginContainerWire] | None = None
    init_containers: list[PluginContainerWire] | None = None


class PluginStatusWire(Struct, rename="camel", gc=False):
    name: str | None = None
    image: str | None = None
    state: StateWire | None = None
    last_state: StateWire | None = None


class PluginPodStatus(Struct, rename="camel", gc=False):
    phase: str | None = None
    start_time: str | None = None
    conditions: list[ConditionWire] | None = None
    container_statuses: list[PluginStatusWire] | None = None
    init_container_statuses: list[PluginStatusWire] | None = None


class PluginPodWire(Struct, gc=False):
    metadata: Meta
    spec: PluginPodSpec | None = None
    status: PluginPodStatus | None = None


def plugin_pod(wire: PluginPodWire, odd: Odd) -> PluginPod | None:
    """None: the pod is on no node, has ended or is being deleted, or is one of the plugin's neighbours."""
    meta, spec, status = wire.metadata, wire.spec or PluginPodSpec(), wire.status or PluginPodStatus()
    if not spec.node_name or status.phase in _ENDED or meta.deletion_timestamp is not None:
        return None
    containers = [*(spec.init_containers or ()), *(spec.containers or ())]
    if any(_runs(one, NEIGHBOURS) for one in containers):
        return None
    managers = {one.name or "" for one in containers if _is_manager(one)}
    statuses = [*(status.init_container_statuses or ()), *(status.container_statuses or ())]
    return PluginPod(
        ref=PodRef(meta.namespace or "", meta.name, meta.uid or ""),
        node=NodeName(spec.node_name),
        started=_started(status, odd),
        ready=any(one.type == "Ready" and one.status == "True" for one in status.conditions or ()),
        config_manager=bool(managers),
        manager_failing=_first([_failing(one) for one in statuses if (one.name or "") in managers]),
        plugin_failing=_first([_failing(one) for one in statuses if (one.name or "") not in managers]),
    )


def _runs(container: PluginContainerWire, programs: Sequence[str]) -> bool:
    words = [container.name or "", *(container.command or ())[:1], *(container.args or ())[:1]]
    return any(program in word for program in programs for word in words)


def _is_manager(container: PluginContainerWire) -> bool:
    variables = (one.name for one in container.env or ())
    return _runs(container, (MANAGER,)) or MANAGER_VARIABLE in variables


def _started(status: PluginPodStatus, odd: Odd) -> datetime | None:
    at = moment(status.start_time, odd, "status.startTime")
    return None if at == EPOCH else at


def _failing(status: PluginStatusWire) -> str:
    """Why a container does not run. The same words from one try to the next, so no waiting times and no numbers."""
    state = status.state or StateWire()
    ended = state.terminated
    if state.waiting is not None:
        reason = state.waiting.reason or ""
        if reason in _STARTING:
            return ""
        if reason in _PULLING:
            return f"ImagePullBackOff: {_short(status.image or '')}"
        if reason != "CrashLoopBackOff":
            return _short(f"{reason}: {state.waiting.message}" if state.waiting.message else reason)
        ended = status.last_state.terminated if status.last_state is not None else None
        if ended is None:
            return reason
    elif ended is None or not ended.exit_code:
        return ""
    reason = f" ({ended.reason})" if ended.reason not in (None, "", "Error", "Completed") else ""
    said = f": {ended.message}" if (ended.message or "").strip() else ""
    return _short(f"CrashLoopBackOff, exit code {ended.exit_code or 0}{reason}{said}")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _first(texts: Sequence[str]) -> str:
    return next((text for text in texts if text), "")
