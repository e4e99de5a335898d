"""What does a pod hold on its node? The sum that the scheduler counts, once for all pods with the same containers.

The rule is Kubernetes' (k8s.io/component-helpers/resource, PodRequests): app containers and restartable init
containers add up; a plain init container needs its own beside the restartable ones before it; the larger of the two
counts, plus the pod's overhead. Pod-level requests stand in for the sum of what they name (cpu, memory, hugepages).
In-place resizing touches cpu and memory only and is not looked at.
"""

import sys
from collections.abc import Callable, Mapping

import msgspec

from reconciler.kube.parse import Odd, amounts_of
from reconciler.kube.shared_bytes import Shared
from reconciler.kube.wire import Number, PodSpec, PodWire, ResourcesWire
from reconciler.model.node import NodeName, Resources
from reconciler.model.workload import PodRef, PodView

ENDED = ("Succeeded", "Failed")

_SEPARATOR = b"\x00"
_RESOURCES = msgspec.json.Decoder(ResourcesWire | None)
_OVERHEAD = msgspec.json.Decoder(dict[str, Number | None] | None)


class PodParser:
    """Makes PodViews; pods of one template share their table of requests."""

    def __init__(self) -> None:
        self._odd: Odd = lambda why: None
        self._shared = Shared(self._decode)

    def __call__(self, wire: PodWire, odd: Odd) -> PodView | None:
        """None: the pod holds nothing, since it is bound to no node or has ended."""
        spec = wire.spec
        if spec is None or not spec.node_name or (wire.status is not None and wire.status.phase in ENDED):
            return None
        self._odd = odd
        meta = wire.metadata
        return PodView(
            ref=PodRef(sys.intern(meta.namespace or ""), meta.name, meta.uid or ""),
            node=NodeName(sys.intern(spec.node_name)),
            requests=self._shared.get(_fingerprint(spec)),
            created=sys.intern(meta.creation_timestamp or ""),
        )

    def _decode(self, fingerprint: bytes) -> Resources:
        whole, overhead, *containers = fingerprint.split(_SEPARATOR)
        running: dict[str, int] = {}
        starting: dict[str, int] = {}
        for mark, resources in zip(containers[::2], containers[1::2], strict=True):
            amounts = self._amounts(resources)
            if mark != b"i":
                _add(running, amounts)
            if mark == b"i":
                _raise(starting, {name: amount + running.get(name, 0) for name, amount in amounts.items()})
            elif mark == b"s":
                _raise(starting, running)
        _raise(running, starting)
        running |= self._amounts(whole)
        if overhead:
            _add(running, self._read(lambda: amounts_of(_OVERHEAD.decode(overhead), self._odd, "spec.overhead")))
        return running

    def _amounts(self, raw: bytes) -> Mapping[str, int]:
        return self._read(lambda: amounts_of(_requested(raw), self._odd, "resources.requests")) if raw else {}

    def _read(self, decode: Callable[[], Resources]) -> Resources:
        try:
            return decode()
        except msgspec.DecodeError as error:
            self._odd(f"requests: {error}; this part of the pod counts as nothing")
            return {}


def _requested(raw: bytes) -> dict[str, Number | None]:
    """Requests, and limits where no request is named: what the API server makes of them when a pod is created."""
    found = _RESOURCES.decode(raw)
    return {} if found is None else {**(found.limits or {}), **(found.requests or {})}


def _fingerprint(spec: PodSpec) -> bytes:
    """All bytes that the sum depends on. Init containers come first, as they run; JSON holds no zero byte."""
    parts: list[bytes] = [spec.resources, spec.overhead]
    for one in spec.init_containers or ():
        parts += (b"s" if one.restart_policy == "Always" else b"i", one.resources)
    for one in spec.containers or ():
        parts += (b"c", one.resources)
    return _SEPARATOR.join(parts)


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
