"""What runs? Every cache, queue, loop and watch of the controller, joined once.

It is given its transport, its clock and its randomness, so that the demo, the tests on virtual time and the real
process all run this very composition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import anyio
from anyio.abc import TaskStatus

from reconciler.app.overlay_loop import OverlayLoop
from reconciler.app.verify_loop import VerifyLoop
from reconciler.app.voice import Voice
from reconciler.app.watched import watched
from reconciler.app.world import World
from reconciler.controllers.instance_types import InstanceTypes
from reconciler.controllers.node_gpus import NodeGpus
from reconciler.controllers.overlays import KEY
from reconciler.controllers.ports import Actuator
from reconciler.decide.node import NodePolicy
from reconciler.kube import catalog_config_map, node_pools, sources
from reconciler.kube.apply import KubeActuator
from reconciler.kube.cache import ClaimCache, NodeCache, PodCache
from reconciler.kube.catalog import CatalogStore
from reconciler.kube.fence import Fence
from reconciler.kube.node_pools import NodePoolCache
from reconciler.kube.plugin_cache import PluginCache
from reconciler.kube.plugin_place import PluginPlace
from reconciler.kube.probe_cache import ProbeCache
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.watch import Pace
from reconciler.kube.watches import Watches
from reconciler.model import names
from reconciler.model.node import InstanceType, NodeName
from reconciler.model.overlay import OverlayPolicy
from reconciler.model.verification import VerifyPolicy
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.worker import Worker
from reconciler.runtime.workqueue import WorkQueue
from reconciler.serve.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people decided, as plain values (see app/wishes.py for how settings become these)."""

    namespace: str
    policy: NodePolicy
    probe: ProbeJobSettings
    pace: Pace
    plugin_selector: str = "app.kubernetes.io/name=nvidia-device-plugin"
    overlays: OverlayPolicy | None = None
    """None: nothing about NodeOverlays is looked at."""
    write_overlays: bool = False
    """Else it is only said what would be written."""
    verify: VerifyPolicy | None = None
    """None: nodes are verified by hand only."""
    verify_job: ProbeJobSettings | None = None
    """None: as the probe's."""
    workers: int = 4
    ec2_ttl: timedelta = timedelta(hours=12)
    ec2_retry: timedelta = timedelta(minutes=10)
    first_retry: float = 0.5
    longest_retry: float = 60.0


class Controller:
    """Watches from `watch`, works from `work`; nothing is written but by `work`, and there only inside the fence."""

    def __init__(
        self,
        world: World,
        wishes: Wishes,
        voice: Voice,
        metrics: Metrics,
        *,
        fence: Fence,
        actuator: Actuator | None = None,
    ) -> None:
        """`actuator` stands in for the real one in a dry run, which then writes nothing at all."""
        self._wishes = wishes
        self._world = world
        self._voice = voice
        self._metrics = metrics
        policy = wishes.policy
        self.backoff = Backoff(world.random, wishes.first_retry, wishes.longest_retry)
        self.node_queue: WorkQueue[NodeName] = WorkQueue()
        self.type_queue: WorkQueue[InstanceType] = WorkQueue()
        self.nodes = NodeCache(self.node_queue.add)
        sharing = bool(policy.slicing.rules)
        gpus = {policy.capacity.gpu_resource, names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE} if sharing else set()
        mig = (names.MIG_RESOURCES,) if sharing else ()
        self.pods = PodCache(
            {policy.capacity.resource, *gpus},
            self.node_queue.add,
            prefixes=mig,
            gpu_resource=policy.capacity.gpu_resource,
        )
        self.probes = ProbeCache(self.node_queue.add)
        self.claims = ClaimCache(self._ask, self.node_queue.add)
        self.plugins = PluginCache(self.node_queue.add, self._every_node)
        self.pools = NodePoolCache(self._every_node if sharing else lambda: None)
        self.catalog = CatalogStore(
            world.transport,
            namespace=wishes.namespace,
            may_write=fence if actuator is None else None,
            clock=world.clock,
            report=voice.trouble,
            builtin=world.builtin,
            row=world.row,
            changed=self._type_changed,
            valid=wishes.ec2_ttl,
            retry=wishes.ec2_retry,
        )
        actuator_or_real = actuator or KubeActuator(
            world.transport, may_write=fence, probe=wishes.probe, catalog=self.catalog, clock=world.clock
        )
        self.gpus = NodeGpus(
            nodes=self.nodes,
            pods=self.pods,
            probes=self.probes,
            plugins=self.plugins,
            pools=self.pools,
            claims=self.claims,
            catalog=self.catalog,
            actuator=actuator_or_real,
            observer=metrics,
            ask_type=self._ask,
            policy=policy,
            clock=world.clock,
        )
        self.types = InstanceTypes(
            source=world.types, memory=self.catalog, answered=self._type_changed, again_after=wishes.ec2_retry
        )
        self.node_worker = Worker("node", self.node_queue, self.gpus.reconcile, self.backoff, voice)
        self.type_worker = Worker("type", self.type_queue, self.types.reconcile, self.backoff, voice)
        self.watches = Watches(world.transport, backoff=self.backoff, report=voice.trouble, pace=wishes.pace)
        self._watch_nodes()
        self.overlays = self._overlay_loop(fence, dry=actuator is not None)
        self.verifications = self._verify_loop(actuator_or_real, fence) if actuator is None else None
        metrics.watching(lambda: watched(self.watches, world.clock))

    def _watch_nodes(self) -> None:
        """All that the loop over nodes looks at."""
        report, namespace, add = self._voice.trouble, self._wishes.namespace, self.watches.add
        # The catalog and the probes first: a node that is seen before them would be probed twice.
        add(catalog_config_map.source(report, namespace), self.catalog.take)
        add(sources.probe_jobs(report, namespace), self.probes.jobs.take)
        add(sources.probe_pods(report, namespace), self.probes.pods.take)
        add(sources.node_claims(report), self.claims.take)
        self._watch_plugin()
        add(sources.nodes(report), self.nodes.take)
        add(sources.pods(report), self.pods.take)

    def _watch_plugin(self) -> None:
        """Rules need the ConfigMap and the pods; slices in overlays the first alone: a template may name a profile."""
        report, wishes, slicing = self._voice.trouble, self._wishes, self._wishes.policy.slicing
        if not slicing.rules and not (wishes.overlays is not None and wishes.overlays.slices):
            return
        place = PluginPlace.of(slicing.config_map, wishes.plugin_selector)
        source = sources.plugin_config_map(report, place.namespace, place.config_map)
        config = self.watches.add(source, self.plugins.configs.take)
        self.plugins.may_read = lambda: not config.absent
        if slicing.rules:
            self.watches.add(sources.plugin_pods(report, place.namespace, place.selector), self.plugins.pods.take)

    def _overlay_loop(self, fence: Fence, *, dry: bool) -> OverlayLoop | None:
        """The loop over NodeOverlays, where people want it. NodePools are watched for its sake and for rules'."""
        wishes = self._wishes
        if wishes.overlays is None and not wishes.policy.slicing.rules:
            return None
        pool_watch = self.watches.add(node_pools.source(self._voice.trouble), self.pools.take)
        if wishes.overlays is None:
            return None
        return OverlayLoop(
            self._world,
            policy=wishes.policy,
            overlay_policy=wishes.overlays,
            may_write=fence if wishes.write_overlays and not dry else None,
            pools=self.pools,
            pool_watch=pool_watch,
            nodes=self.nodes,
            plugins=self.plugins,
            catalog=self.catalog,
            watches=self.watches,
            backoff=self.backoff,
            voice=self._voice,
            metrics=self._metrics,
        )

    def _verify_loop(self, actuator: Actuator, fence: Fence) -> VerifyLoop | None:
        wishes = self._wishes
        if wishes.verify is None:
            return None
        return VerifyLoop(
            self._world,
            policy=wishes.verify,
            job=wishes.verify_job or wishes.probe,
            may_write=fence,
            nodes=self.nodes,
            actuator=actuator,
            watches=self.watches,
            backoff=self.backoff,
            voice=self._voice,
        )

    @property
    def _besides(self) -> Sequence[OverlayLoop | VerifyLoop]:
        return [loop for loop in (self.overlays, self.verifications) if loop is not None]

    @property
    def unsynced(self) -> Sequence[str]:
        """The kinds that have not been read yet; empty once everything that was there at first is known."""
        return self.watches.unsynced

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the cluster until cancelled; `started` once all that was there at first is known."""
        async with anyio.create_task_group() as group:
            await group.start(self.watches.watch)
            self._metrics.synced(True)
            task_status.started()

    async def work(self) -> None:
        """Reconcile until cancelled. Every node first: what a former term showed of it went with that term."""
        self._queue_nodes()
        async with anyio.create_task_group() as group:
            group.start_soon(self.type_worker.run)
            for loop in self._besides:
                loop.begin()
                group.start_soon(loop.worker.run)
            for _ in range(self._wishes.workers):
                group.start_soon(self.node_worker.run)

    async def once(self) -> Sequence[str]:
        """One turn for every type, every node and the overlays; returns the keys whose turn did not end well."""
        bad_types = await self.ask_types()
        every = sorted(node.name for node in self.nodes.all())
        bad: list[str] = [*bad_types, *[name for name in every if not await self.node_worker.turn(name)]]
        if self.overlays is not None and not await self.overlays.worker.turn(KEY):
            bad.append(KEY)
        return bad

    async def ask_types(self) -> Sequence[InstanceType]:
        """Look up the type of every node that is due; returns those whose turn did not end well."""
        kinds = sorted({node.instance_type for node in self.nodes.all() if node.instance_type is not None})
        for kind in kinds:
            self.types.want(kind)
        return [kind for kind in kinds if not await self.type_worker.turn(kind)]

    def _ask(self, kind: InstanceType) -> None:
        self.types.want(kind)
        self.type_queue.add(kind)

    def _type_changed(self, kind: InstanceType) -> None:
        for name in self.nodes.of_type(kind):
            self.node_queue.add(name)
        if self.overlays is not None:
            self.overlays.begin()

    def _queue_nodes(self) -> None:
        for node in self.nodes.all():
            self.node_queue.add(node.name)

    def _every_node(self) -> None:
        self._queue_nodes()
        if self.overlays is not None:
            self.overlays.begin()
