"""How does the controller do it? Its own transport, watches, caches and actuator, put together as it does."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio

from reconciler.app.controller import Controller, Wishes
from reconciler.app.process import SystemClock
from reconciler.app.voice import Voice
from reconciler.app.world import World
from reconciler.aws.builtin import builtin
from reconciler.aws.instance_types import TableOnly
from reconciler.decide.node import NodePolicy
from reconciler.kube import http, sources
from reconciler.kube.apply import KubeActuator
from reconciler.kube.cache import NodeCache, PodCache
from reconciler.kube.credentials import Fixed
from reconciler.kube.fence import unfenced
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Pace, Watcher
from reconciler.model import names
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.plan import Advertise, Done
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.quantity import MIB
from reconciler.model.workload import PodView
from reconciler.runtime import garbage, logs
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.transport import Transport
from reconciler.serve.metrics import Metrics
from tests.bench.client import CONCURRENT_PATCHES, TOKEN, Measured, start_changes
from tests.bench.meter import Meter

NAMESPACE = "gpu-reconciler"


async def sync(url: str) -> Measured:
    """The controller itself, until it knows all there is."""
    garbage.keep()
    meter = Meter()
    async with _transport(url) as transport, anyio.create_task_group() as group:
        table = builtin()
        types = TableOnly(table, "there is no EC2 here")
        world = World(transport, types, table.answer, table.beside, [], SystemClock(), random.random)
        controller = Controller(world, _wishes(), _Strict(logs.logger(), Metrics()), Metrics(), fence=unfenced)
        await group.start(controller.watch)
        garbage.keep()
        measured = Measured(len(controller.nodes) + len(controller.pods), meter.read())
        group.cancel_scope.cancel()
    return measured


async def events(url: str, count: int) -> Measured:
    """The watch over pods, after the first sync."""
    async with _transport(url) as transport, _looking(transport) as look:
        last = look.watcher.counts.events + count
        meter = Meter()
        start_changes(url, count)
        while look.watcher.counts.events < last:  # noqa: ASYNC110  # a sink that tells would add to what is measured
            await asyncio.sleep(0.01)
        return Measured(count, meter.read())


async def patches(url: str, count: int) -> Measured:
    """Advertise actions through the actuator."""
    async with _transport(url) as transport:
        job = ProbeJobSettings(NAMESPACE, "gpu-reconciler")
        actuator = KubeActuator(transport, may_write=unfenced, probe=job, catalog=_Nothing(), clock=SystemClock())
        numbers = iter(range(count))

        async def patch(number: int) -> None:
            key = NodeKey(NodeName(f"node-{number % 100:05d}"), "u")
            outcomes = await actuator.apply([Advertise(key, {names.MEMORY_RESOURCE: number * MIB})])
            assert outcomes == [Done()]

        async def work() -> None:
            for number in numbers:
                await patch(number)

        await patch(0)
        meter = Meter()
        await asyncio.gather(*(work() for _ in range(CONCURRENT_PATCHES)))
        return Measured(count, meter.read())


def _transport(url: str) -> AbstractAsyncContextManager[Transport]:
    return http.opened(http.Endpoint(url), Fixed(f"Bearer {TOKEN}"))


def _wishes() -> Wishes:
    policy = NodePolicy(CapacityPolicy(), SlicingPolicy())
    return Wishes(NAMESPACE, policy, ProbeJobSettings(NAMESPACE, "gpu-reconciler"), Pace())


class _Strict(Voice):
    """Nothing may go wrong here, or a way round would be measured instead of the usual way."""

    def trouble(self, trouble: Trouble) -> None:
        if trouble.kind != "NodeClaim":  # there is no Karpenter on the measured server
            raise RuntimeError(f"{trouble.kind} {trouble.name}: {trouble.why}")


@dataclass(frozen=True, slots=True)
class _Look:
    nodes: NodeCache
    pods: PodCache
    watcher: Watcher[PodView]
    """That of pods."""


@asynccontextmanager
async def _looking(transport: Transport) -> AsyncIterator[_Look]:
    backoff = Backoff(random.random)
    nodes, pods = NodeCache(), PodCache([names.MEMORY_RESOURCE])
    of_nodes = Watcher(transport, sources.nodes(_told), nodes.take, backoff=backoff, report=_told)
    of_pods = Watcher(transport, sources.pods(_told), pods.take, backoff=backoff, report=_told)
    running = [asyncio.create_task(watcher.run()) for watcher in (of_nodes, of_pods)]
    try:
        await of_nodes.synced.wait()
        await of_pods.synced.wait()
        yield _Look(nodes, pods, of_pods)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _told(trouble: Trouble) -> None:
    """Nothing may go wrong here: a tolerant path would be measured instead of the usual one."""
    raise RuntimeError(f"{trouble.kind} {trouble.name}: {trouble.why}")


class _Nothing:
    async def learn(self, figure: LearnedFigure) -> None:
        del figure
