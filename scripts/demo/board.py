"""What does the API server show? Nodes, pods and overlays as any client sees them, and when each node changed.

It watches for itself, so that what is claimed is checked against the cluster and not against the controller's memory.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
from anyio.abc import TaskStatus

from reconciler.kube import overlays, sources
from reconciler.kube.cache import NodeCache, PodCache
from reconciler.kube.overlays import OverlayCache
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Watcher
from reconciler.model import names
from reconciler.model.node import Condition, NodeName, NodeView
from reconciler.model.overlay import OverlayView
from reconciler.model.quantity import MIB
from reconciler.model.record import CapacityRecord
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.transport import Transport


class NotSo(Exception):
    """Something that the story needs did not come true; the text says what."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A node at a time (the event loop's)."""

    at: float
    node: NodeView
    mib: int | None
    """What the scheduler may give away; None: the resource is absent."""


class Board:
    """Follows the cluster while `run` runs."""

    def __init__(self, transport: Transport, resource: str) -> None:
        self.resource = resource
        self.nodes = NodeCache()
        self.pods = PodCache()
        self.moments: defaultdict[NodeName, list[Moment]] = defaultdict(list)
        self.troubles: list[Trouble] = []
        self._transport = transport
        self._changed = anyio.Event()
        self.nodes.on_change(self._note)
        self.pods.on_change(lambda before, after: self._changed.set())
        self._overlays = OverlayCache(lambda: self._changed.set())

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled; `started` once all that was there at first is known."""
        backoff = Backoff(random.random, 0.1, 2.0)
        report = self.troubles.append
        nodes = Watcher(self._transport, sources.nodes(report), self.nodes.take, backoff=backoff, report=report)
        pods = Watcher(self._transport, sources.pods(report), self.pods.take, backoff=backoff, report=report)
        told = Watcher(self._transport, overlays.source(report), self._overlays.take, backoff=backoff, report=report)
        async with anyio.create_task_group() as group:
            group.start_soon(nodes.run)
            group.start_soon(pods.run)
            group.start_soon(told.run)
            await nodes.synced.wait()
            await pods.synced.wait()
            await told.synced.wait()
            task_status.started()

    async def until(self, question: Callable[[], object], what: str, seconds: float = 15.0) -> None:
        """Wait until the answer, asked after each change, is true. Raises NotSo."""
        with anyio.move_on_after(seconds):
            while not question():
                self._changed = anyio.Event()
                await self._changed.wait()
            return
        raise NotSo(f"not within {seconds:g} s: {what}")

    def node(self, name: str) -> NodeView:
        """Raises NotSo where the node is not there."""
        view = self.nodes.get(NodeName(name))
        if view is None:
            raise NotSo(f"there is no node {name}")
        return view

    def mib(self, name: str) -> int | None:
        """What the node advertises to the scheduler."""
        return allocatable_mib(self.node(name), self.resource)

    def requested_mib(self, name: str) -> int:
        """What its pods hold of that."""
        return self.pods.requested(NodeName(name), self.resource) // MIB

    def pods_on(self, name: str) -> Sequence[str]:
        """The UIDs of the pods on it that ask for GPU memory."""
        return [pod.ref.uid for pod in self.pods.on_node(NodeName(name)) if pod.requests.get(self.resource)]

    def record(self, name: str) -> CapacityRecord | None:
        """The annotation with all the numbers."""
        record = self.node(name).record
        return record if isinstance(record, CapacityRecord) else None

    def slots(self, name: str) -> tuple[int, int]:
        """How many GPUs, or slices of them, its pods hold, and how many it offers."""
        return self.pods.held(NodeName(name)), offered(self.node(name))

    def profile(self, name: str) -> str:
        """What the node's label tells the device plugin, or empty."""
        return self.node(name).labels.get(names.PLUGIN_CONFIG, "")

    def sharing(self, name: str) -> Condition | None:
        """The condition GPUSharingReady."""
        return self.node(name).sharing_condition

    def overlays(self) -> Sequence[OverlayView]:
        """The NodeOverlays that are the controller's, by name."""
        ours = [one for one in self._overlays.views() if one.subject is not None]
        return sorted(ours, key=lambda one: one.name)

    def reason(self, name: str) -> str:
        """That of the node's condition, or empty."""
        condition = self.node(name).condition
        return condition.reason if condition is not None else ""

    def history(self, name: str, since: float = 0.0) -> Sequence[Moment]:
        """Each state that the node was seen in, oldest first."""
        return [moment for moment in self.moments[NodeName(name)] if moment.at >= since]

    def _note(self, before: NodeView | None, after: NodeView | None) -> None:
        if after is not None:
            mib = allocatable_mib(after, self.resource)
            self.moments[after.name].append(Moment(anyio.current_time(), after, mib))
        self._changed.set()


def allocatable_mib(node: NodeView, resource: str) -> int | None:
    amount = node.allocatable.get(resource)
    return None if amount is None else amount // MIB


def offered(node: NodeView) -> int:
    """GPUs and slices of them."""
    return sum(node.allocatable.get(name, 0) for name in (names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE))
