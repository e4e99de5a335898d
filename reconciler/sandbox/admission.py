"""Does a kubelet admit a pod that was bound to it? Otherwise `OutOf...` (lifecycle/predicate.go, devicemanager)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from reconciler.sandbox.amounts import is_extended
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.fitting import requests
from reconciler.sandbox.node_status import Devices
from reconciler.sandbox.quantity import value as amount


def refusal(
    pod: Json, others: Iterable[Json], node: Json, devices: Devices, held: Mapping[str, int] | None = None
) -> tuple[str, str] | None:
    """The reason and the message with which the pod is rejected, or None. `others` are the pods admitted before it.

    `held` is how many devices the device manager has handed out: the node counts as having them
    (UpdatePluginResources).
    """
    held = held or {}
    allocatable = {**((node.get("status") or {}).get("allocatable") or {})}
    for name, count in held.items():
        if amount(allocatable.get(name, "0")) < count:
            allocatable[name] = str(count)
    before = list(others)
    wanted = requests(pod)
    for name in wanted:
        if name in devices and devices[name][1] == 0:
            return unexpected(f"no healthy devices present; cannot allocate unhealthy devices {name}")
    limit = int(amount(allocatable.get("pods", "0")))
    if len(before) + 1 > limit:
        return _out_of("pods", 1, len(before), limit)
    for name, asked in wanted.items():
        if is_extended(name) and name not in allocatable:
            continue  # removeMissingExtendedResources: what the node does not know is not asked for
        capacity = amount(allocatable.get(name, "0"))
        used = sum((requests(other).get(name, Fraction(0)) for other in before), Fraction(0))
        if asked + used > capacity:
            unit = 1000 if name == "cpu" else 1  # the kubelet speaks of cpu in thousandths
            return _out_of(name, int(asked * unit), int(used * unit), int(capacity * unit))
    return None


def unexpected(why: str) -> tuple[str, str]:
    """What the device manager did not hand out."""
    return "UnexpectedAdmissionError", f"Allocate failed due to {why}, which is unexpected"


def _out_of(name: str, asked: int, used: int, capacity: int) -> tuple[str, str]:
    text = f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}"
    return f"OutOf{name}", text
