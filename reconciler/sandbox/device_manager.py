"""Which devices may pods have? The kubelet's device manager (cm/devicemanager): registered, healthy, handed out."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.fitting import requests
from reconciler.sandbox.node_status import Devices

GRACE = 300.0
"""Seconds for which a resource whose plugin is away keeps its capacity (endpointStopGracePeriod)."""


@dataclass(slots=True)
class Checkpoint:
    """What a kubelet that starts anew knows from the one before: resources by name, and who has which device."""

    resources: set[str] = field(default_factory=set)
    allocated: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    """Pod uid -> resource -> ids of devices."""


@dataclass(slots=True)
class _Resource:
    healthy: set[str]
    unhealthy: set[str]
    stopped: float | None = None
    one_each: bool = False


class DeviceManager:
    """One kubelet's. What it learns goes to the checkpoint, which outlives it."""

    def __init__(self, checkpoint: Checkpoint, time: Callable[[], float]) -> None:
        self._time = time
        self._checkpoint = checkpoint
        # A restarted kubelet knows the names and no device: capacity is 0 until the plugin is back (readCheckpoint).
        self._resources = {name: _Resource(set(), set(), time()) for name in checkpoint.resources}

    def connect(self, resource: str, devices: Iterable[str], *, one_each: bool = False) -> None:
        """A plugin has registered and listed its devices. `one_each`: it refuses to allocate two."""
        self._resources[resource] = _Resource(set(devices), set(), one_each=one_each)
        self._checkpoint.resources.add(resource)

    def disconnect(self, resource: str) -> None:
        """A plugin is gone: its devices are there, and unhealthy."""
        if (found := self._resources.get(resource)) is not None:
            found.unhealthy |= found.healthy
            found.healthy = set()
            found.stopped = self._time()

    def capacity(self) -> Devices:
        """For the node status: what is there. A resource whose grace is over is 0 once, and then not mentioned."""
        counts = {}
        for name, each in list(self._resources.items()):
            if each.stopped is not None and self._time() - each.stopped > GRACE:
                del self._resources[name]
                self._checkpoint.resources.discard(name)
                counts[name] = (0, 0)
            else:
                counts[name] = (len(each.healthy) + len(each.unhealthy), len(each.healthy))
        return counts

    def retain(self, uids: Collection[str]) -> None:
        """Take back the devices of all other pods (UpdateAllocatedDevices)."""
        for uid in set(self._checkpoint.allocated) - set(uids):
            del self._checkpoint.allocated[uid]

    def held(self, uid: str) -> dict[str, int]:
        """How many devices are allocated on this node, if this pod has any (sanitizeNodeAllocatable)."""
        if uid not in self._checkpoint.allocated:
            return {}
        return {name: len(self._in_use(name)) for mine in self._checkpoint.allocated.values() for name in mine}

    def allocate(self, pod: Json) -> str | None:
        """Give a pod its devices, or say why it cannot have them (devicesToAllocate)."""
        uid = pod["metadata"]["uid"]
        mine: dict[str, set[str]] = {}
        for name, wanted in requests(pod).items():
            needed, in_use = int(wanted), self._in_use(name)
            if name not in self._resources and not in_use:
                continue  # no device plugin's, as far as this kubelet knows
            chosen = self._choose(name, needed, in_use)
            if isinstance(chosen, str):
                return chosen
            mine[name] = set(chosen)
        if mine:
            self._checkpoint.allocated[uid] = mine
        return None

    def _choose(self, name: str, needed: int, in_use: set[str]) -> Sequence[str] | str:
        if name not in self._resources:
            return f"cannot allocate unregistered device {name}"
        healthy = self._resources[name].healthy
        if not healthy:
            return f"no healthy devices present; cannot allocate unhealthy devices {name}"
        free = sorted(healthy - in_use)
        if len(free) < needed:
            return f"requested number of devices unavailable for {name}. Requested: {needed}, Available: {len(free)}"
        if self._resources[name].one_each and needed > 1:
            why = f"request for '{name}: {needed}' too large: maximum request size for shared resources is 1"
            return f"rpc error: code = Unknown desc = {why}"
        return free[:needed]

    def _in_use(self, name: str) -> set[str]:
        return set().union(*(mine.get(name, set()) for mine in self._checkpoint.allocated.values()))
