"""What does a kubelet make of its Node? Registration, the sync of capacity and allocatable, zeroing: arithmetic."""

from datetime import datetime

from reconciler.sandbox.amounts import is_extended
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.quantity import parse

HEARTBEAT = 300.0
"""Seconds after which a status without news is written all the same (nodeStatusReportFrequency)."""

Devices = dict[str, tuple[int, int]]
"""Resource of a device plugin -> (capacity, healthy). The kubelet of a plugin that is away keeps the capacity."""


def first_node(name: str, machine: Machine, now: datetime) -> Json:
    """The Node that a kubelet registers where there is none."""
    fixed = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "labels": {**fixed, **machine.first_labels},
            "annotations": dict(machine.annotations),
        },
        "spec": {"providerID": machine.provider_id, "taints": machine.taint_objects()},
        "status": {
            "capacity": machine.capacity,
            "allocatable": machine.capacity,
            "conditions": conditions({}, ready=False, now=now),
            "addresses": [{"type": "InternalIP", "address": address(name)}, {"type": "Hostname", "address": name}],
            "nodeInfo": node_info(machine),
        },
    }


def node_info(machine: Machine) -> Json:
    return {
        "machineID": machine.provider_id.rpartition("/")[2],
        "systemUUID": machine.provider_id.rpartition("/")[2],
        "bootID": machine.boot_id,
        "kernelVersion": "6.12.0",
        "osImage": machine.os_image,
        "containerRuntimeVersion": "containerd://2.1.0",
        "kubeletVersion": "v1.36.3",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def address(name: str) -> str:
    """An address in the documentation range, the same for the same name."""
    return f"192.0.2.{sum(name.encode()) % 254 + 1}"


def zeroed(node: Json) -> Json:
    """reconcileExtendedResource: capacity and allocatable of every extended resource become 0, as a status patch."""
    status = node.get("status") or {}
    names = [name for name in status.get("capacity") or {} if is_extended(name)]
    zeroes = dict.fromkeys(names, "0")
    return {"capacity": zeroes, "allocatable": zeroes} if names else {}


def synced(node: Json, machine: Machine, devices: Devices, *, ready: bool, now: datetime) -> Json:
    """What a sync would change in the Node's status (setters.go MachineInfo), as a patch; empty when nothing.

    Capacity that the kubelet does not know stays. Every capacity is copied to allocatable, and what is allocatable
    without capacity goes.
    """
    status = node.get("status") or {}
    old_capacity, old_allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    own = machine.capacity | {name: str(count) for name, (count, _) in devices.items()}
    capacity = {**old_capacity, **own}
    allocatable = capacity | {name: str(healthy) for name, (_, healthy) in devices.items()}
    patch: Json = {}
    if changed := _difference(old_capacity, capacity):
        patch["capacity"] = changed
    if changed := _difference(old_allocatable, allocatable):
        patch["allocatable"] = changed
    if (info := node_info(machine)) != status.get("nodeInfo"):
        patch["nodeInfo"] = info
    wanted = conditions(status, ready=ready, now=now)
    if _conditions_news(status.get("conditions") or [], wanted, now) or patch:
        patch["conditions"] = wanted
    return patch


def _difference(old: Json, new: Json) -> Json:
    changed: Json = {name: text for name, text in new.items() if name not in old or not _same(old[name], text)}
    return changed | {name: None for name in old if name not in new}


def _same(one: str, other: str) -> bool:
    return one == other or parse(one).amount == parse(other).amount


_CALM = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def conditions(status: Json, *, ready: bool, now: datetime) -> list[Json]:
    """The kubelet's own four conditions, with their heartbeat now."""
    known = {each["type"]: each for each in status.get("conditions") or []}
    wanted = [(name, "False", reason, text) for name, reason, text in _CALM]
    if ready:
        wanted.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    else:
        wanted.append(("Ready", "False", "KubeletNotReady", "container runtime network not ready"))
    result = []
    for name, value, reason, text in wanted:
        old = known.get(name)
        since = old["lastTransitionTime"] if old and old["status"] == value else stamp(now)
        result.append(
            {
                "type": name,
                "status": value,
                "lastHeartbeatTime": stamp(now),
                "lastTransitionTime": since,
                "reason": reason,
                "message": text,
            }
        )
    return result


def _conditions_news(old: list[Json], new: list[Json], now: datetime) -> bool:
    known = {each["type"]: each for each in old}
    for each in new:
        was = known.get(each["type"])
        if was is None or was["status"] != each["status"]:
            return True
        beaten = datetime.fromisoformat(was["lastHeartbeatTime"].replace("Z", "+00:00"))
        if (now - beaten).total_seconds() >= HEARTBEAT:
            return True
    return False
