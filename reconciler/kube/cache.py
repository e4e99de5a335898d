"""What do we know right now? The latest view of each object, in step with its watch; an equal view is no news.

Nothing here waits and nothing is asked of the server: a cache takes news, and answers.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from typing import Generic, TypeVar

from reconciler.kube.news import News, Seen, Synced, Vanished
from reconciler.model import names
from reconciler.model.gpu_resource import is_gpu
from reconciler.model.node import InstanceType, NodeClaimView, NodeName, NodeView, Resources
from reconciler.model.workload import PodView

V = TypeVar("V")


class Mirror(Generic[V]):
    """Views by key. `changed` is called with the view before and the view after, None where there was or is none."""

    def __init__(self) -> None:
        self._views: dict[str, V] = {}
        self._changed: list[Callable[[V | None, V | None], None]] = []

    def on_change(self, changed: Callable[[V | None, V | None], None]) -> None:
        self._changed.append(changed)

    def take(self, news: News[V]) -> None:
        """The sink of a watch."""
        match news:
            case Seen():  # unpacking in the pattern would cost as much as all the rest
                key, view = news.key, news.view
                before = self._views.get(key)
                if before is not None and before == view:
                    self._views[key] = self._refreshed(before, view)
                    return
                self._views[key] = view
                self._tell(before, view)
            case Vanished(key):
                self._forget(key)
            case Synced(present):
                with ExitStack() as each:  # one that fails does not keep the others
                    for key in reversed([key for key in self._views if key not in present]):
                        each.callback(self._forget, key)

    def views(self) -> Collection[V]:
        """All of them, as they are now."""
        return list(self._views.values())

    def __len__(self) -> int:
        return len(self._views)

    def _refreshed(self, before: V, view: V) -> V:
        """What to keep of two equal views. The old one, so that a heartbeat makes no garbage."""
        return before

    def _forget(self, key: str) -> None:
        before = self._views.pop(key, None)
        if before is not None:
            self._tell(before, None)

    def _tell(self, before: V | None, after: V | None) -> None:
        for changed in self._changed:
            changed(before, after)


class NodeCache(Mirror[NodeView]):
    """Nodes by name. `changed` gets the name of each node that looks different, is new, or is gone."""

    def __init__(self, changed: Callable[[NodeName], None] = lambda name: None) -> None:
        super().__init__()
        self._by_type: dict[InstanceType, set[NodeName]] = {}
        self._node_changed = changed
        self.on_change(self._index)

    def get(self, name: NodeName) -> NodeView | None:
        return self._views.get(name)

    def of_type(self, instance_type: InstanceType) -> Collection[NodeName]:
        """Their names, sorted: the order of a set differs from run to run."""
        return sorted(self._by_type.get(instance_type, ()))

    def all(self) -> Iterable[NodeView]:
        return self.views()

    def _refreshed(self, before: NodeView, view: NodeView) -> NodeView:
        return view  # its resourceVersion is newer, and a taint is written with it

    def _index(self, before: NodeView | None, after: NodeView | None) -> None:
        if before is not None and before.instance_type is not None:
            there = self._by_type.get(before.instance_type, set())
            there.discard(before.name)
            if not there:
                self._by_type.pop(before.instance_type, None)
        if after is not None and after.instance_type is not None:
            self._by_type.setdefault(after.instance_type, set()).add(after.name)
        node = after if after is not None else before
        if node is not None:
            self._node_changed(node.name)


class PodCache(Mirror[PodView]):
    """What pods hold, by node.

    `changed` gets the node of a pod that begins or ceases to hold one of `resources`, or one whose name begins with
    one of `prefixes`. `gpu_resource`: how the device plugin calls GPUs here, beside NVIDIA's own names.
    """

    def __init__(
        self,
        resources: Collection[str] = (),
        changed: Callable[[NodeName], None] = lambda name: None,
        *,
        prefixes: tuple[str, ...] = (),
        gpu_resource: str = names.GPU_RESOURCE,
    ) -> None:
        super().__init__()
        self._resources = frozenset(resources)
        self._gpu_resource = gpu_resource
        self._prefixes = prefixes
        self._node_changed = changed
        self._totals: dict[NodeName, dict[str, int]] = {}
        self._on_node: dict[NodeName, dict[str, PodView]] = {}
        self.on_change(self._count)

    def requested(self, node: NodeName, resource: str) -> int:
        """The sum over the node's pods, in the resource's unit; 0 where nobody asks for it."""
        return self._totals.get(node, {}).get(resource, 0)

    def held(self, node: NodeName) -> int:
        """How many GPUs, slices and MIG devices the node's pods hold."""
        held = self._totals.get(node, {}).items()
        return sum(amount for name, amount in held if is_gpu(name, self._gpu_resource))

    def totals(self, node: NodeName) -> Mapping[str, int]:
        """All sums of the node."""
        return dict(self._totals.get(node, {}))

    def on_node(self, node: NodeName) -> Collection[PodView]:
        """The node's pods, oldest first."""
        pods = self._on_node.get(node, {}).values()
        return sorted(pods, key=lambda pod: (pod.created, pod.ref.namespace, pod.ref.name))

    def _count(self, before: PodView | None, after: PodView | None) -> None:
        touched: set[NodeName] = set()
        for pod, sign in ((before, -1), (after, 1)):
            if pod is None:
                continue
            self._shift(pod, sign)
            if self._matters(pod.requests):
                touched.add(pod.node)
        for node in touched:
            self._node_changed(node)

    def _matters(self, requests: Resources) -> bool:
        if not self._resources.isdisjoint(requests):
            return True
        prefixes = self._prefixes
        return bool(prefixes) and any(name.startswith(prefixes) for name in requests)

    def _shift(self, pod: PodView, sign: int) -> None:
        totals = self._totals.setdefault(pod.node, {})
        for name, amount in pod.requests.items():
            total = totals.get(name, 0) + sign * amount
            if total:
                totals[name] = total
            else:
                totals.pop(name, None)
        here = self._on_node.setdefault(pod.node, {})
        key = pod.ref.uid or f"{pod.ref.namespace}/{pod.ref.name}"
        if sign > 0:
            here[key] = pod
            return
        here.pop(key, None)
        if not here:
            self._on_node.pop(pod.node, None)
            self._totals.pop(pod.node, None)


class ClaimCache(Mirror[NodeClaimView]):
    """Karpenter's promises.

    `promised` gets each instance type that a claim newly names. `changed` gets the node of a claim whose word on that
    node is another now: that it is there, its conditions, or what is asked and expected of it.
    """

    def __init__(
        self,
        promised: Callable[[InstanceType], None] = lambda kind: None,
        changed: Callable[[NodeName], None] = lambda name: None,
    ) -> None:
        super().__init__()
        self._promised = promised
        self._node_changed = changed
        self._by_node: dict[NodeName, NodeClaimView] = {}
        self.on_change(self._index)

    def of_node(self, node: NodeName) -> NodeClaimView | None:
        """The claim that the node came from; None where Karpenter did not make it, or its claim names no node yet."""
        return self._by_node.get(node)

    def _index(self, before: NodeClaimView | None, after: NodeClaimView | None) -> None:
        known = before.instance_type if before is not None else None
        if after is not None and after.instance_type is not None and after.instance_type != known:
            self._promised(after.instance_type)
        if before is not None and before.node is not None and self._by_node.get(before.node) == before:
            del self._by_node[before.node]
        if after is not None and after.node is not None:
            self._by_node[after.node] = after
        for node in sorted({one.node for one in (before, after) if one is not None and one.node is not None}):
            self._node_changed(node)
