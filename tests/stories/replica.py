"""One process of the controller on virtual time: everything that app/ joins, over a transport that can die."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskStatus

from reconciler.app.controller import Controller, Wishes
from reconciler.app.leading import lead
from reconciler.app.voice import Voice
from reconciler.app.world import World
from reconciler.aws.builtin import builtin
from reconciler.controllers.ports import TypeSource
from reconciler.kube.fence import unfenced
from reconciler.kube.lease import Lease
from reconciler.kube.trouble import Trouble
from reconciler.runtime import logs
from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Request, Response, Stream, Transport
from reconciler.serve.metrics import Metrics


class Mortal:
    """A transport whose process dies with its n-th request: that one is carried out, and nobody hears the answer."""

    def __init__(self, transport: Transport, dies_with: int | None = None) -> None:
        self.requests = 0
        self.dead = anyio.Event()
        self._transport = transport
        self._dies_with = dies_with

    async def send(self, request: Request) -> Response:
        await self._begin()
        answer = await self._transport.send(request)
        await self._end()
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        await self._begin()
        async with self._transport.stream(request) as stream:
            await self._end()
            yield stream

    async def _begin(self) -> None:
        if self.dead.is_set():
            await anyio.sleep_forever()
        self.requests += 1

    async def _end(self) -> None:
        if self._dies_with is not None and self.requests >= self._dies_with:
            self.dead.set()
        if self.dead.is_set():
            await anyio.sleep_forever()


@dataclass(frozen=True, slots=True)
class Turn:
    """One pass of a loop over a key."""

    at: float
    loop: str
    key: str
    result: str


class Ear(Voice):
    """Hears all that the loops and doors say, besides passing it on."""

    def __init__(self, name: str, metrics: Metrics) -> None:
        super().__init__(logs.logger(replica=name), metrics)
        self.turns: list[Turn] = []
        self.failures: list[Exception] = []
        self.troubles: list[Trouble] = []

    def passed(self, loop: str, key: str, result: str, seconds: float, notes: tuple[tuple[str, Any], ...]) -> None:
        super().passed(loop, key, result, seconds, notes)
        self.turns.append(Turn(anyio.current_time(), loop, key, result))

    def failed(self, loop: str, key: str, error: Exception) -> None:
        super().failed(loop, key, error)
        self.failures.append(error)

    def trouble(self, trouble: Trouble) -> None:
        super().trouble(trouble)
        self.troubles.append(trouble)

    @property
    def busiest(self) -> int:
        """The most turns that one key ever had within one second."""
        seconds = Counter((turn.loop, turn.key, int(turn.at)) for turn in self.turns)
        return max(seconds.values(), default=0)


class Replica:
    """Runs from `run` until it is killed, or its transport dies."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        types: TypeSource,
        clock: Clock,
        wishes: Wishes,
        *,
        leased: bool,
        works: bool = True,
        dies_with: int | None = None,
    ) -> None:
        self.name = name
        self.transport = Mortal(transport, dies_with)
        self.terms: list[tuple[float, bool]] = []
        """When it began (True) and ceased (False) to lead."""
        self.metrics, dice = Metrics(), random.Random(name)
        self.ear = voice = Ear(name, self.metrics)
        self.lease = Lease(
            self.transport,
            namespace=wishes.namespace,
            name="gpu-reconciler",
            identity=name,
            clock=clock,
            random=dice.random,
            report=voice.trouble,
            changed=lambda leads: self.terms.append((anyio.current_time(), leads)),
        )
        table = builtin()
        kinds = [row.figure.instance_type for row in table]
        world = World(self.transport, types, table.answer, table.beside, kinds, clock, dice.random)
        self._leased = leased
        self._works = works
        fence = self.lease.fence if leased else unfenced
        self.controller = Controller(world, wishes, voice, self.metrics, fence=fence)
        self._scope = anyio.CancelScope()

    @property
    def alive(self) -> bool:
        return not self._scope.cancel_called

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Live; `started` once all that was there at first is known, or at an earlier death."""
        knows = False
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._die)
                await group.start(self.controller.watch)
                knows = True
                task_status.started()
                if not self._works:
                    await anyio.sleep_forever()
                if not self._leased:
                    await self.controller.work()
                async with self.lease.candidacy():
                    await lead(self.controller, self.lease)
        if not knows:
            task_status.started()

    async def _die(self) -> None:
        await self.transport.dead.wait()
        self._scope.cancel()

    def kill(self) -> None:
        """As by SIGKILL: nothing more is said to anybody."""
        self.transport.dead.set()
        self._scope.cancel()

    def stop(self) -> None:
        """As by SIGTERM: the lease is given back."""
        self._scope.cancel()
