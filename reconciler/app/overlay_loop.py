"""How does the loop over NodeOverlays hang together? Its queue, its cache, its watch, and who writes."""

from reconciler.app.voice import Voice
from reconciler.app.world import World
from reconciler.controllers.overlays import KEY, Overlays
from reconciler.decide.node import NodePolicy
from reconciler.kube import overlays as node_overlays
from reconciler.kube.cache import NodeCache
from reconciler.kube.catalog import CatalogStore
from reconciler.kube.fence import Fence
from reconciler.kube.node_pools import NodePoolCache
from reconciler.kube.overlay_writes import KubeOverlays
from reconciler.kube.overlays import OverlayCache
from reconciler.kube.plugin_cache import PluginCache
from reconciler.kube.watch import Watcher
from reconciler.kube.watches import Watches
from reconciler.model.node_pool import NodePoolView
from reconciler.model.overlay import OverlayPolicy
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.worker import Worker
from reconciler.runtime.workqueue import WorkQueue
from reconciler.serve.metrics import Metrics


class OverlayLoop:
    """Queued by NodePools, overlays, the catalog, and what nodes prove; worked on while we lead."""

    def __init__(
        self,
        world: World,
        *,
        policy: NodePolicy,
        overlay_policy: OverlayPolicy,
        may_write: Fence | None,
        pools: NodePoolCache,
        pool_watch: Watcher[NodePoolView],
        nodes: NodeCache,
        plugins: PluginCache,
        catalog: CatalogStore,
        watches: Watches,
        backoff: Backoff,
        voice: Voice,
        metrics: Metrics,
    ) -> None:
        """`may_write` None: it is only said what would be written."""
        self._queue: WorkQueue[str] = WorkQueue()
        cache = OverlayCache(self.begin)
        overlay_watch = watches.add(node_overlays.source(voice.trouble), cache.take)
        writes = None if may_write is None else KubeOverlays(world.transport, may_write=may_write, clock=world.clock)
        self.loop = Overlays(
            pools=pools,
            overlays=cache,
            nodes=nodes,
            catalog=catalog,
            table=world.table,
            plugins=plugins,
            pools_known=lambda: not pool_watch.absent,
            overlays_known=lambda: not overlay_watch.absent,
            actuator=writes,
            observer=metrics,
            wanted=self._queue.add,
            memory=policy.capacity,
            slicing=policy.slicing,
            policy=overlay_policy,
            clock=world.clock,
        )
        pools.on_change(lambda before, after: self.begin())
        nodes.on_change(self.loop.node_changed)
        self.worker = Worker("overlays", self._queue, self.loop.reconcile, backoff, voice)

    def begin(self) -> None:
        """Something changed, or we begin to lead: look."""
        self._queue.add(KEY)
