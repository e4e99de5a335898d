"""How is an action carried out? One API call each, safe to repeat; the answer becomes an Outcome.

What may be expected is a value: a namesake or a vanished object is Lost. What is a surprise (a conflict, no rights, a
server that is away) stays an exception, and the worker knows what follows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, assert_never

from reconciler.kube import fence, probe_job, write
from reconciler.kube.fence import Fence, NotLeader
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model.gpu import LearnedFigure
from reconciler.model.plan import (
    Action,
    Advertise,
    Announce,
    ClearTaint,
    Done,
    Learn,
    Lost,
    Outcome,
    RestartPlugin,
    RunProbe,
    SetTaint,
)
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Request, Response, Transport

_FOR_NOW = (Stale, Unavailable)
"""What may go well the next time."""


class Learner(Protocol):
    """Who keeps what probes found: the catalog."""

    async def learn(self, figure: LearnedFigure) -> None: ...


class KubeActuator:
    """Carries out actions in order and stops at the first that is not done, unless it is an event."""

    def __init__(
        self, transport: Transport, *, may_write: Fence, probe: ProbeJobSettings, catalog: Learner, clock: Clock
    ) -> None:
        self._transport = transport
        self._may_write = may_write
        self._probe = probe
        self._catalog = catalog
        self._clock = clock

    async def apply(self, actions: Sequence[Action]) -> Sequence[Outcome]:
        """One outcome for each action that was done. Raises what `runtime.errors` names.

        An event that cannot be told holds up nothing else, and is raised in the end. Where it may be told later, the
        node's condition goes on saying what was told last, so that the event stays due.
        """
        outcomes: list[Outcome] = []
        untold: Exception | None = None
        for action in actions:
            try:
                left = _unsaid(action) if isinstance(untold, _FOR_NOW) else action
                outcomes.append(Done() if left is None else await self._one(left))
            except (*_FOR_NOW, Forbidden, Rejected) as error:
                if isinstance(error, NotLeader) or not isinstance(action, Announce):
                    raise
                untold = untold if isinstance(untold, _FOR_NOW) else error
                continue
            if not isinstance(outcomes[-1], Done):
                break
        if untold is not None:
            raise untold
        return outcomes

    async def _one(self, action: Action) -> Outcome:
        match action:
            case Advertise():
                return await self._patch(write.advertise(action, self._clock.now()))
            case ClearTaint():
                return await self._patch(write.clear_taint(action))
            case SetTaint():
                return await self._patch(write.set_taint(action))
            case RestartPlugin():
                return await self._delete(write.restart_plugin(action))
            case RunProbe():
                path = f"/apis/batch/v1/namespaces/{self._probe.namespace}/jobs"
                return await self._create(write.request("POST", path, probe_job.manifest(action, self._probe)))
            case Learn(figure):
                await self._catalog.learn(figure)
                return Done()
            case Announce():
                return await self._create(write.announce(action, self._clock.now()))
            case _:
                assert_never(action)

    async def _patch(self, request: Request) -> Outcome:
        try:
            answer = await self._send(request)
        except Gone as error:
            return Lost(str(error))
        return Done(write.version(answer.body))

    async def _delete(self, request: Request) -> Outcome:
        """A conflict is a namesake: the one that was meant is gone, which was the aim."""
        try:
            await self._send(request)
        except NotLeader:
            raise
        except (Gone, Stale) as error:
            return Lost(str(error))
        return Done()

    async def _create(self, request: Request) -> Outcome:
        """One that exists is the one that was wanted."""
        await fence.create(self._transport, self._may_write, request, homeless="the namespace is missing")
        return Done()

    async def _send(self, request: Request) -> Response:
        return await fence.send(self._transport, self._may_write, request)


def _unsaid(action: Action) -> Action | None:
    """The action without the word that people have been told; None where nothing is left of it."""
    if not isinstance(action, Advertise):
        return action
    left = replace(action, condition=None, second_condition=None)
    return left if left != Advertise(action.node) else None


class Rehearsal:
    """Dry run: remembers what would be done, and does nothing."""

    def __init__(self) -> None:
        self.actions: list[Action] = []

    async def apply(self, actions: Sequence[Action]) -> Sequence[Outcome]:
        """Everything counts as done."""
        self.actions.extend(actions)
        return [Done() for _ in actions]
