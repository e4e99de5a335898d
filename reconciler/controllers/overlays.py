"""Does Karpenter know what GPU nodes will offer? One key for all overlays, since Karpenter judges them together."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

import anyio

from reconciler.controllers.ports import Catalog, Plugins
from reconciler.decide import overlays
from reconciler.decide.expected import TypeFacts, least_seen, proven_mib
from reconciler.decide.overlay_facts import OverlayFacts, refusals, refuses
from reconciler.model import names
from reconciler.model.node import InstanceType, NodeView
from reconciler.model.node_pool import NodePoolView
from reconciler.model.overlay import (
    Finding,
    OverlayAction,
    OverlayPlan,
    OverlayPolicy,
    OverlayView,
    WriteOverlay,
)
from reconciler.model.plan import Lost, Outcome
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.runtime.clock import Clock
from reconciler.runtime.worker import Pass

KEY = "overlays"

ECHO = 1.0
"""Seconds that our own writes have to come back by the watch: until they do they look undone."""

_OVER = 0.001
"""Seconds. What is left of a wait may be less than a clock tells apart, and would be waited for again and again."""


class NodePools(Protocol):
    def views(self) -> Collection[NodePoolView]: ...


class AllOverlays(Protocol):
    """Everybody's."""

    def views(self) -> Collection[OverlayView]: ...


class AllNodes(Protocol):
    def all(self) -> Iterable[NodeView]: ...


class KnownTypes(Catalog, Protocol):
    def types(self) -> Collection[InstanceType]:
        """All that EC2 or a probe has told of."""
        ...


class OverlayActuator(Protocol):
    async def apply(self, actions: Sequence[OverlayAction]) -> Sequence[Outcome]: ...

    async def tell(self, finding: Finding, about: OverlayView) -> None:
        """An Event on the overlay."""
        ...


class OverlayObserver(Protocol):
    """Who shows people how it stands with overlays."""

    def overlays(self, plan: OverlayPlan) -> None: ...


class Overlays:
    """Look, decide, act. Without an actuator: only say what would be done."""

    def __init__(
        self,
        *,
        pools: NodePools,
        overlays: AllOverlays,
        nodes: AllNodes,
        catalog: KnownTypes,
        table: Collection[InstanceType],
        plugins: Plugins,
        pools_known: Callable[[], bool],
        overlays_known: Callable[[], bool],
        actuator: OverlayActuator | None,
        observer: OverlayObserver,
        wanted: Callable[[str], None],
        memory: CapacityPolicy,
        slicing: SlicingPolicy,
        policy: OverlayPolicy,
        clock: Clock,
    ) -> None:
        """`table`: the types of the built-in table. `wanted` puts KEY into the queue."""
        self._pools = pools
        self._overlays = overlays
        self._nodes = nodes
        self._catalog = catalog
        self._table = frozenset(table)
        self._plugins = plugins
        self._pools_known = pools_known
        self._overlays_known = overlays_known
        self._actuator = actuator
        self._observer = observer
        self._wanted = wanted
        self._memory = memory
        self._slicing = slicing
        self._policy = policy
        self._clock = clock
        self._told: frozenset[Finding] = frozenset()
        self._announced: tuple[OverlayAction, ...] = ()
        self._echoed = -math.inf
        self._seen: Mapping[InstanceType, int] = {}
        self._refused: Mapping[str, str] = {}
        """What nodes said when we looked last: the least by type, and by NodePool."""

    def node_changed(self, before: NodeView | None, after: NodeView | None) -> None:
        """For the cache of nodes: most of what nodes say is nothing to overlays, or was said by others of their kind.

        Hundreds of nodes that join at once with the same figure would else be a look at all overlays each.
        """
        if self._figures_move(before, after) or self._refusals_move(before, after):
            self._wanted(KEY)

    async def reconcile(self, key: str) -> Pass:
        """One turn, the same for every key. Raises what the doors raise; the worker knows what follows."""
        left = self._echoed - anyio.current_time()
        if left > _OVER:
            return Pass(timedelta(seconds=left), quiet=True)
        plan = self.decide()
        self._observer.overlays(plan)
        news = [finding for finding in plan.findings if finding not in self._told]
        lost: list[Outcome] = []
        if self._actuator is not None:
            outcomes = await self._actuator.apply(plan.actions)
            if plan.actions:
                # Not where it raised: the worker's wait, which grows, is long enough, and a quiet pass would end it.
                self._echoed = anyio.current_time() + ECHO
            lost = [outcome for outcome in outcomes if isinstance(outcome, Lost)]
            await self._tell(self._actuator, news)
        quiet = not news and (not plan.actions or (self._actuator is None and plan.actions == self._announced))
        self._told, self._announced = frozenset(plan.findings), plan.actions
        return Pass(plan.revisit, _notes(plan, news, written=self._actuator is not None, lost=len(lost)), quiet)

    def decide(self) -> OverlayPlan:
        """The plan by what is known at this moment."""
        return overlays.decide(self.facts(), self._memory, self._slicing, self._policy, self._clock.now())

    def facts(self) -> OverlayFacts:
        """All that is known at this moment, without asking anybody."""
        nodes = list(self._nodes.all())
        seen = self._seen = least_seen(nodes, self._memory.resource)
        refused = self._refused = refusals(nodes)
        catalog = self._catalog
        return OverlayFacts(
            pools=tuple(self._pools.views()),
            overlays=tuple(self._overlays.views()),
            types={
                kind: TypeFacts(catalog.spec(kind), catalog.builtin(kind), catalog.learned(kind), seen.get(kind))
                for kind in {*self._table, *catalog.types()}
            },
            plugin=self._plugins.config,
            refusals=refused,
            pools_known=self._pools_known(),
            overlays_known=self._overlays_known(),
        )

    async def _tell(self, actuator: OverlayActuator, news: Sequence[Finding]) -> None:
        there = {one.name: one for one in self._overlays.views() if one.subject is not None}
        for finding in news:
            if finding.about in there:
                await actuator.tell(finding, there[finding.about])

    def _figures_move(self, before: NodeView | None, after: NodeView | None) -> bool:
        """Whether the least that nodes of a type have may be another now."""
        was, now = self._figure(before), self._figure(after)
        if was == now:
            return False
        lower = now is not None and now[1] < self._seen.get(now[0], math.inf)
        return lower or (was is not None and was[1] <= self._seen.get(was[0], was[1]))

    def _refusals_move(self, before: NodeView | None, after: NodeView | None) -> bool:
        """Whether a NodePool may refuse to share that did not, or the other way round."""
        was, now = _refusal(before), _refusal(after)
        if was == now:
            return False
        first = now is not None and now[0] not in self._refused
        return first or (was is not None and self._refused.get(*was) == was[1])

    def _figure(self, node: NodeView | None) -> tuple[InstanceType, int] | None:
        mib = None if node is None else proven_mib(node, self._memory.resource)
        return None if node is None or node.instance_type is None or mib is None else (node.instance_type, mib)


def _refusal(node: NodeView | None) -> tuple[str, str] | None:
    """The NodePool, and the clause."""
    clause = "" if node is None else refuses(node)
    return (node.labels.get(names.KARPENTER_NODEPOOL, ""), clause) if node is not None and clause else None


def _notes(plan: OverlayPlan, news: Sequence[Finding], *, written: bool, lost: int) -> tuple[tuple[str, object], ...]:
    notes: list[tuple[str, object]] = [("overlays", len(plan.wanted))]
    if plan.actions:
        verb = "written" if written else "would_write"
        notes.append((verb, [_name(action) for action in plan.actions]))
    if news:
        notes.append(("findings", [f"{finding.reason.value}: {finding.sentence}" for finding in news]))
    return (*notes, ("lost", lost)) if lost else tuple(notes)


def _name(action: OverlayAction) -> str:
    return action.name if isinstance(action, WriteOverlay) else f"-{action.name}"
