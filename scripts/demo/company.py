"""Who plays? The controller as it is always put together, on a stage, with the board beside it."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from reconciler.app.controller import Controller
from reconciler.app.explaining import from_cluster
from reconciler.app.process import type_source
from reconciler.app.voice import Voice
from reconciler.app.wishes import wishes
from reconciler.app.world import World
from reconciler.aws.builtin import builtin
from reconciler.controllers.ports import TypeSource
from reconciler.decide.explanation import Explanation
from reconciler.decide.node import NodePolicy
from reconciler.kube.fence import unfenced
from reconciler.model.node import InstanceType
from reconciler.model.quantity import MIB
from reconciler.runtime import logs
from reconciler.sandbox.client import Client
from reconciler.serve.metrics import Metrics
from reconciler.settings.load import load
from scripts.demo import pools
from scripts.demo.board import Board
from scripts.demo.calls import Counted
from scripts.demo.stage import ADMIN, CONTROLLER, NAMESPACE, Stage

EXAMPLE = pools.DEPLOY / "examples" / "starting-point-a"
POD_MIB = 104
"""What each pod of the example asks for."""


@dataclass(frozen=True, slots=True)
class Company:
    """Everybody in the story."""

    stage: Stage
    admin: Client
    board: Board
    controller: Controller
    policy: NodePolicy
    calls: Counted

    def explanations(self) -> dict[str, Explanation]:
        """What `gpu-reconciler explain --all` says, by node."""
        pod = {self.policy.capacity.resource: POD_MIB * MIB}
        found = from_cluster(self.controller, self.policy, self.stage.clock.now(), pod)
        return {str(each.node): each for each in found}


@asynccontextmanager
async def company(stage: Stage, aws: Mapping[str, str], types: TypeSource | None = None) -> AsyncIterator[Company]:
    """The controller works while the context lasts, as starting point A and pools.SETTINGS say; `aws` are variables.

    `types` is who answers for EC2 where `aws` does not say.
    """
    given = {"GPU_RECONCILER_KUBERNETES__NAMESPACE": NAMESPACE, **pools.SETTINGS, **aws}
    settings = load(given, EXAMPLE / "settings.yaml")
    calls = Counted(stage.transport(CONTROLLER))
    metrics = Metrics()
    voice = Voice(logs.logger(), metrics)
    types = types if types is not None else type_source(settings, lambda: None)
    await types.describe([InstanceType("t3.micro")])  # loading boto3 takes a second, which belongs to the set-up
    table = builtin()
    kinds = [row.figure.instance_type for row in table]
    world = World(calls, types, table.answer, table.beside, kinds, stage.clock, random.random)
    plain = wishes(settings)
    controller = Controller(world, plain, voice, metrics, fence=unfenced)
    board = Board(stage.transport(ADMIN), plain.policy.capacity.resource)
    async with anyio.create_task_group() as group:
        await _started(group, board, controller)
        yield Company(stage, Client(stage.transport(ADMIN)), board, controller, plain.policy, calls)
        group.cancel_scope.cancel()


async def _started(group: TaskGroup, board: Board, controller: Controller) -> None:
    await group.start(board.run)
    await group.start(controller.watch)
    group.start_soon(controller.work)
