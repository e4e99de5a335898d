"""What runs? Every cache, queue, loop and watch of the controller, joined once.

It is given its transport, its clock and its randomness, so that the demo, the tests on virtual time and the real
process all run this very composition.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import anyio
from anyio.abc import TaskStatus

from reconciler.app.voice import Voice
from reconciler.controllers.instance_types import InstanceTypes
from reconciler.controllers.node_gpus import NodeGpus
from reconciler.controllers.ports import Actuator, TypeSource
from reconciler.decide.node import NodePolicy
from reconciler.kube import catalog_config_map, sources
from reconciler.kube.apply import KubeActuator
from reconciler.kube.cache import ClaimCache, NodeCache, PodCache
from reconciler.kube.catalog import CatalogStore
from reconciler.kube.fence import Fence
from reconciler.kube.probe_cache import ProbeCache
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.watch import Pace, Watcher
from reconciler.model import names
from reconciler.model.gpu import BuiltinFigure, GpuSpec, SpecAnswer
from reconciler.model.node import InstanceType, NodeName
from reconciler.model.plugin import PluginPod
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Transport
from reconciler.runtime.worker import Worker
from reconciler.runtime.workqueue import WorkQueue
from reconciler.serve.metrics import Metrics


@dataclass(frozen=True, slots=True)
class World:
    """What the controller is given of the world outside."""

    transport: Transport
    types: TypeSource
    builtin: Callable[[InstanceType], SpecAnswer | None]
    """What is known of a type without asking EC2."""
    row: Callable[[GpuSpec], BuiltinFigure | None]
    """What is known of the same GPUs, beside EC2's answer."""
    clock: Clock
    random: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people decided, as plain values (see app/wishes.py for how settings become these)."""

    namespace: str
    policy: NodePolicy
    probe: ProbeJobSettings
    pace: Pace
    workers: int = 4
    ec2_ttl: timedelta = timedelta(hours=12)
    ec2_retry: timedelta = timedelta(minutes=10)
    first_retry: float = 0.5
    longest_retry: float = 60.0


class _NoPlugin:
    """Without rules for sharing nothing about the device plugin is read."""

    config = None

    def on_node(self, node: NodeName) -> tuple[PluginPod, ...]:
        return ()


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
        self.node_queue: WorkQueue[NodeName] = WorkQueue()
        self.type_queue: WorkQueue[InstanceType] = WorkQueue()
        self.nodes = NodeCache(self.node_queue.add)
        self.pods = PodCache(_telling_resources(wishes.policy), self.node_queue.add)
        self.probes = ProbeCache(self.node_queue.add)
        self.claims = ClaimCache(self._ask)
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
        self.gpus = NodeGpus(
            nodes=self.nodes,
            pods=self.pods,
            probes=self.probes,
            plugins=_NoPlugin(),
            catalog=self.catalog,
            actuator=actuator
            or KubeActuator(
                world.transport, may_write=fence, probe=wishes.probe, catalog=self.catalog, clock=world.clock
            ),
            observer=metrics,
            ask_type=self._ask,
            policy=wishes.policy,
            clock=world.clock,
        )
        self.types = InstanceTypes(
            source=world.types, memory=self.catalog, answered=self._type_changed, again_after=wishes.ec2_retry
        )
        backoff = Backoff(world.random, wishes.first_retry, wishes.longest_retry)
        self.node_worker = Worker("node", self.node_queue, self.gpus.reconcile, backoff, voice)
        self.type_worker = Worker("type", self.type_queue, self.types.reconcile, backoff, voice)
        self._watchers = self._watches(world.transport, backoff, voice)
        self._metrics = metrics

    def _watches(self, transport: Transport, backoff: Backoff, voice: Voice) -> Sequence[Watcher[Any]]:
        report, namespace = voice.trouble, self._wishes.namespace

        def watcher(source: Any, sink: Callable[[Any], None]) -> Watcher[Any]:
            return Watcher(transport, source, sink, backoff=backoff, report=report, pace=self._wishes.pace)

        return (
            # The catalog and the probes first: a node that is seen before them would be probed twice.
            watcher(catalog_config_map.source(report, namespace), self.catalog.take),
            watcher(sources.probe_jobs(report, namespace), self.probes.jobs.take),
            watcher(sources.probe_pods(report, namespace), self.probes.pods.take),
            watcher(sources.node_claims(report), self.claims.take),
            watcher(sources.nodes(report), self.nodes.take),
            watcher(sources.pods(report), self.pods.take),
        )

    @property
    def synced(self) -> bool:
        """Everything that was there at first is known."""
        return all(watcher.synced.is_set() for watcher in self._watchers)

    @property
    def unsynced(self) -> Sequence[str]:
        """The kinds that have not been read yet."""
        return [watcher.source.kind for watcher in self._watchers if not watcher.synced.is_set()]

    async def watch(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the cluster until cancelled; `started` once all that was there at first is known."""
        async with anyio.create_task_group() as group:
            for watcher in self._watchers:
                group.start_soon(watcher.run)
            for watcher in self._watchers:
                await watcher.synced.wait()
            self._metrics.synced(True)
            task_status.started()

    async def work(self) -> None:
        """Reconcile until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.type_worker.run)
            for _ in range(self._wishes.workers):
                group.start_soon(self.node_worker.run)

    async def once(self) -> Sequence[NodeName | InstanceType]:
        """One turn for every type and every node; returns the keys whose turn did not end well."""
        bad_types = await self.ask_types()
        names = sorted(node.name for node in self.nodes.all())
        return [*bad_types, *[name for name in names if not await self.node_worker.turn(name)]]

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


def _telling_resources(policy: NodePolicy) -> set[str]:
    """What a pod must hold for its coming and going to matter to its node."""
    sharing = {names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE, policy.slicing.gpu_resource}
    return {policy.capacity.resource} | (sharing if policy.slicing.rules else set())
