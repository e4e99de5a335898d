"""What does the device plugin's pod on a node say? Whether it runs, whether it follows the label, and why it does not.

NVIDIA's chart and GPU Operator name their containers differently (deployments/helm/nvidia-device-plugin/templates;
assets/state-device-plugin), so a config-manager is known by any of its name, its command and its environment. The
chart gives its other DaemonSets the same labels, so those are known by what they run, and left out.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field

from reconciler.kube.container_failing import ContainerStatusWire, Failure, failure
from reconciler.kube.parse import EPOCH, Odd, moment
from reconciler.kube.pods import ENDED
from reconciler.kube.wire import ConditionWire, Meta
from reconciler.model.node import NodeName
from reconciler.model.plugin import PluginPod
from reconciler.model.workload import PodRef

MANAGER = "config-manager"
MANAGER_VARIABLE = "CONFIG_FILE_SRCDIR"
NEIGHBOURS = ("gpu-feature-discovery", "mps-control-daemon")
"""What the chart's other DaemonSets run; both have a config-manager of their own."""

_NEVER_AGAIN = datetime.max.replace(tzinfo=UTC)
_LACKS = re.compile(r"Insufficient [^\s,.]+(?:\.[^\s,.]+)*")
"""The steady part of the scheduler's words, whose numbers of nodes change with the cluster."""


class VariableWire(Struct, gc=False):
    name: str | None = None


class PluginContainerWire(Struct, gc=False):
    name: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[VariableWire] | None = None


class _Field(Struct, gc=False):
    key: str | None = None
    values: list[str] | None = None


class _Term(Struct, rename="camel", gc=False):
    match_fields: list[_Field] | None = None


class _Terms(Struct, rename="camel", gc=False):
    node_selector_terms: list[_Term] | None = None


class _NodeAffinity(Struct, gc=False):
    required: _Terms | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class _Affinity(Struct, rename="camel", gc=False):
    node_affinity: _NodeAffinity | None = None


class PluginPodSpec(Struct, rename="camel", gc=False):
    node_name: str | None = None
    affinity: _Affinity | None = None
    containers: list[PluginContainerWire] | None = None
    init_containers: list[PluginContainerWire] | None = None


class PluginPodStatus(Struct, rename="camel", gc=False):
    phase: str | None = None
    start_time: str | None = None
    conditions: list[ConditionWire] | None = None
    container_statuses: list[ContainerStatusWire] | None = None
    init_container_statuses: list[ContainerStatusWire] | None = None


class PluginPodWire(Struct, gc=False):
    metadata: Meta
    spec: PluginPodSpec | None = None
    status: PluginPodStatus | None = None


def plugin_pod(wire: PluginPodWire, odd: Odd) -> PluginPod | None:
    """None: the pod is for no node, has ended, is being deleted, or is one of the plugin's neighbours."""
    meta, spec, status = wire.metadata, wire.spec or PluginPodSpec(), wire.status or PluginPodStatus()
    node = spec.node_name or _meant_for(spec.affinity)
    if not node or status.phase in ENDED or meta.deletion_timestamp is not None:
        return None
    containers = [*(spec.init_containers or ()), *(spec.containers or ())]
    if any(_runs(one, NEIGHBOURS) for one in containers):
        return None
    managers = {one.name or "" for one in containers if _is_manager(one)}
    statuses = [*(status.init_container_statuses or ()), *(status.container_statuses or ())]
    failures = [(one.name or "", failure(one, odd)) for one in statuses]
    of_manager = _worst(failed for name, failed in failures if name in managers)
    unschedulable = _unschedulable(status)
    others = (failed for name, failed in failures if name not in managers)
    of_others = _worst([*others, Failure(unschedulable) if unschedulable else None])
    ready = next((one for one in status.conditions or () if one.type == "Ready" and one.status == "True"), None)
    return PluginPod(
        ref=PodRef(meta.namespace or "", meta.name, meta.uid or ""),
        node=NodeName(node),
        started=_time(status.start_time, odd, "status.startTime"),
        ready=ready is not None,
        ready_since=_time(ready.last_transition_time, odd, "status.conditions") if ready is not None else None,
        config_manager=bool(managers),
        manager_failing=of_manager.because if of_manager is not None else "",
        manager_again=of_manager.again if of_manager is not None else None,
        plugin_failing=of_others.because if of_others is not None else "",
        plugin_again=of_others.again if of_others is not None else None,
    )


def _meant_for(affinity: _Affinity | None) -> str:
    """The node that a DaemonSet's pod waits for, before the scheduler has bound it there."""
    terms = affinity.node_affinity.required if affinity is not None and affinity.node_affinity is not None else None
    for term in (terms.node_selector_terms if terms is not None else None) or ():
        for one in term.match_fields or ():
            if one.key == "metadata.name" and one.values:
                return one.values[0]
    return ""


def _runs(container: PluginContainerWire, programs: Sequence[str]) -> bool:
    words = [container.name or "", *(container.command or ())[:1], *(container.args or ())[:1]]
    return any(program in word for program in programs for word in words)


def _is_manager(container: PluginContainerWire) -> bool:
    variables = (one.name for one in container.env or ())
    return _runs(container, (MANAGER,)) or MANAGER_VARIABLE in variables


def _time(text: str | None, odd: Odd, where: str) -> datetime | None:
    at = moment(text, odd, where)
    return None if at == EPOCH else at


def _unschedulable(status: PluginPodStatus) -> str:
    for one in status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False":
            lacks = sorted(set(_LACKS.findall(one.message or "")))
            return f"Unschedulable: {', '.join(lacks)}" if lacks else "Unschedulable"
    return ""


def _worst(failures: Iterable[Failure | None]) -> Failure | None:
    """The first that does not run, else the one that was started last."""
    known = [one for one in failures if one is not None]
    return max(known, key=lambda one: one.again or _NEVER_AGAIN, default=None)
