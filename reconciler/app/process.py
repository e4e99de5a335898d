"""How does a whole process run? Real doors opened and closed around the controller: run, once, explain."""

import random
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup, TaskStatus

from reconciler.app.controller import Controller
from reconciler.app.explaining import from_cluster
from reconciler.app.leading import lead
from reconciler.app.voice import Voice
from reconciler.app.wishes import lease_times, wishes
from reconciler.app.world import World
from reconciler.aws.builtin import builtin
from reconciler.aws.instance_types import Ec2InstanceTypes, TableOnly
from reconciler.aws.session import AwsSession
from reconciler.controllers.ports import Actuator, TypeSource
from reconciler.decide.explanation import Explanation
from reconciler.kube.apply import Rehearsal
from reconciler.kube.connection import connect
from reconciler.kube.fence import NotLeader, unfenced
from reconciler.kube.lease import Lease
from reconciler.model import names
from reconciler.model.node import Resources
from reconciler.runtime import garbage, logs
from reconciler.runtime.transport import Transport
from reconciler.serve.http import listen
from reconciler.serve.metrics import Metrics
from reconciler.settings.root import Settings


class NotInTime(Exception):
    """The cluster could not be read within the time that was given; the text names what is missing."""

    def __init__(self, within: float, unread: Sequence[str]) -> None:
        super().__init__(f"within {within:g} s these could not be read: {', '.join(unread)}")


class Watching(Protocol):
    """What follows a cluster: the controller, or the watches of one look."""

    @property
    def unsynced(self) -> Sequence[str]: ...

    async def watch(self, *, task_status: TaskStatus[None]) -> None: ...


class SystemClock:
    """The wall clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Parts:
    """One process's controller and what it speaks with."""

    controller: Controller
    lease: Lease
    metrics: Metrics


async def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT: watch always, work while leading. Then give the lease back."""
    async with _parts(settings) as parts, anyio.create_task_group() as group:
        controller, metrics = parts.controller, parts.metrics
        group.start_soon(_until_signal, group.cancel_scope)

        def healthy() -> str:
            return ""  # to answer at all is to live: an API server that is away is no reason to be restarted

        def ready() -> str:
            return f"not read yet: {', '.join(controller.unsynced)}" if controller.unsynced else ""

        async with listen(settings.server.host, settings.server.port, metrics, healthy=healthy, ready=ready) as port:
            logs.logger().info("serving", host=settings.server.host, port=port)
            garbage.keep()
            await group.start(controller.watch)
            # All that the first sync made stays: no later collection need look at it again (docs/architecture.md).
            garbage.keep()
            if not settings.leader.enabled:
                metrics.leading(True)
                await controller.work()
            async with parts.lease.candidacy():
                await lead(controller, parts.lease)


async def once(settings: Settings, *, within: float, rehearsal: Rehearsal | None = None) -> Sequence[str]:
    """One pass over every type and node; returns the keys whose turn did not end well.

    With a `rehearsal` nothing is written. Raises NotInTime; NotLeader when another replica leads.
    """
    async with _parts(settings, actuator=rehearsal) as parts, anyio.create_task_group() as group:
        await started(group, parts.controller, within)
        if rehearsal is not None or not settings.leader.enabled:
            bad = await parts.controller.once()
        else:
            async with parts.lease.candidacy() as lease:
                with anyio.move_on_after(within):
                    await lease.gained()
                if not lease.leading:
                    raise NotLeader(
                        f"{lease.holder or 'nobody'} holds the lease: the running controller does this work"
                    )
                bad = await parts.controller.once()
        group.cancel_scope.cancel()
    return [str(key) for key in bad]


async def explain(settings: Settings, *, within: float, pod: Resources | None) -> Sequence[Explanation]:
    """Every node of the cluster, explained; nothing is written. Raises NotInTime."""
    async with _parts(settings, actuator=Rehearsal()) as parts, anyio.create_task_group() as group:
        await started(group, parts.controller, within)
        await parts.controller.ask_types()
        found = from_cluster(parts.controller, wishes(settings).policy, SystemClock().now(), pod)
        group.cancel_scope.cancel()
    return found


async def started(group: TaskGroup, watching: Watching, within: float) -> None:
    """Begin to watch; returns once all that was there at first is known. Raises NotInTime."""
    with anyio.move_on_after(within):
        await group.start(watching.watch)
        return
    raise NotInTime(within, watching.unsynced)


@asynccontextmanager
async def _parts(settings: Settings, *, actuator: Actuator | None = None) -> AsyncIterator[Parts]:
    metrics = Metrics()
    voice = Voice(logs.logger(), metrics)
    clock, dice = SystemClock(), random.Random()
    async with connect(settings.kubernetes.kubeconfig, settings.kubernetes.context) as transport:
        lease = Lease(
            transport,
            namespace=settings.kubernetes.namespace,
            name=settings.leader.lease,
            identity=settings.leader.identity or f"{socket.gethostname()}-{dice.getrandbits(32):08x}",
            clock=clock,
            random=dice.random,
            report=voice.trouble,
            changed=metrics.leading,
            times=lease_times(settings),
        )
        controller = _controller(settings, transport, voice, metrics, lease, dice, actuator)
        yield Parts(controller, lease, metrics)


def _controller(
    settings: Settings,
    transport: Transport,
    voice: Voice,
    metrics: Metrics,
    lease: Lease,
    dice: random.Random,
    actuator: Actuator | None,
) -> Controller:
    controller: Controller

    def node_region() -> str | None:
        regions = (node.labels.get(names.LABEL_REGION) for node in controller.nodes.all())
        return next((region for region in regions if region), None)

    types, table = type_source(settings, node_region), builtin()
    kinds = [row.figure.instance_type for row in table]
    world = World(transport, types, table.answer, table.beside, kinds, SystemClock(), dice.random)
    fence = lease.fence if settings.leader.enabled else unfenced
    controller = Controller(world, wishes(settings), voice, metrics, fence=fence, actuator=actuator)
    return controller


def type_source(settings: Settings, node_region: Callable[[], str | None]) -> TypeSource:
    """EC2, or the built-in table alone where people do not want EC2 to be asked."""
    if not settings.aws.enabled:
        return TableOnly(builtin(), "EC2 is not asked (settings: aws.enabled)")
    session = AwsSession(
        region=settings.aws.region,
        node_region=node_region,
        endpoint_url=settings.aws.endpoint_url,
        role_arn=settings.aws.role_arn,
        timeout=settings.aws.timeout.total_seconds(),
        max_attempts=settings.aws.max_attempts,
    )
    return Ec2InstanceTypes(session, builtin())


async def _until_signal(scope: CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            logs.logger().info("stopping", signal=signal.Signals(number).name)
            scope.cancel()
            return
