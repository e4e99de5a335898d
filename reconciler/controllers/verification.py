"""Does a pod get the GPU that this node promises? Key: the node's name; once a boot, where people want it."""

from typing import Protocol

from reconciler.controllers.ports import Actuator, Nodes
from reconciler.decide import verifying_at_join
from reconciler.decide.verifying_at_join import JoinPlan
from reconciler.model.node import NodeName, NodeView
from reconciler.model.trial import RunVerification, Trial
from reconciler.model.verification import VerifyPolicy
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Forbidden, Rejected
from reconciler.runtime.worker import Pass


class Trials(Protocol):
    """The newest verify Job of the node's present boot."""

    def trial(self, node: NodeView) -> Trial | None: ...


class Jobs(Protocol):
    """Who makes verify Jobs. False: one of that name is there already."""

    async def run(self, order: RunVerification) -> bool: ...


class NodeVerification:
    """Look, decide, act, for one node a turn."""

    def __init__(
        self, *, nodes: Nodes, trials: Trials, jobs: Jobs, actuator: Actuator, policy: VerifyPolicy, clock: Clock
    ) -> None:
        self._nodes = nodes
        self._trials = trials
        self._jobs = jobs
        self._actuator = actuator
        self._policy = policy
        self._clock = clock

    async def reconcile(self, name: NodeName) -> Pass:
        """One turn. Raises what the doors raise; the worker knows what follows."""
        node = self._nodes.get(name)
        if node is None:
            return Pass(quiet=True)
        plan = self.plan(node)
        if plan.order is not None:
            await self._jobs.run(plan.order)
        # One after the other: an event that could not be told now must be due again, so nothing may remember it.
        untold: Forbidden | Rejected | None = None
        if plan.tell is not None:
            try:
                await self._actuator.apply([plan.tell])
            except (Forbidden, Rejected) as error:
                # It never will be told, and the node must remember, or a new Job follows each one that is cleared away.
                untold = error
        if plan.write is not None:
            await self._actuator.apply([plan.write])
        if untold is not None:
            raise untold
        return Pass(revisit=plan.revisit, notes=(("because", plan.because),), quiet=plan.quiet)

    def plan(self, node: NodeView) -> JoinPlan:
        """What is to be done about the node at this moment."""
        return verifying_at_join.plan(node, self._trials.trial(node), self._policy, self._clock.now())
