"""Does this node advertise what it should? Key: the node's name."""

from collections.abc import Callable

from reconciler.controllers.ports import Actuator, Catalog, Nodes, Observer, Pods, Probes
from reconciler.decide import capacity
from reconciler.model.node import InstanceType, NodeName, NodeView
from reconciler.model.plan import Lost, Plan
from reconciler.model.policy import CapacityPolicy
from reconciler.runtime.clock import Clock
from reconciler.runtime.worker import Pass


class NodeCapacity:
    """Look, decide, act, for one node a turn."""

    def __init__(
        self,
        *,
        nodes: Nodes,
        pods: Pods,
        probes: Probes,
        catalog: Catalog,
        actuator: Actuator,
        observer: Observer,
        ask_type: Callable[[InstanceType], None],
        policy: CapacityPolicy,
        clock: Clock,
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._probes = probes
        self._catalog = catalog
        self._actuator = actuator
        self._observer = observer
        self._ask_type = ask_type
        self._policy = policy
        self._clock = clock

    async def reconcile(self, name: NodeName) -> Pass:
        """One turn. Raises what the doors raise; the worker knows what follows."""
        node = self._nodes.get(name)
        if node is None:
            self._observer.gone(name)
            return Pass(quiet=True)
        facts = self.facts(node)
        if node.instance_type is not None and facts.spec is None:
            self._ask_type(node.instance_type)
        plan = capacity.plan(facts, self._policy, self._clock.now())
        self._observer.planned(node, plan)
        outcomes = await self._actuator.apply(plan.actions)
        lost = [outcome for outcome in outcomes if isinstance(outcome, Lost)]
        return Pass(revisit=plan.revisit, notes=_notes(plan, lost), quiet=not plan.actions)

    def facts(self, node: NodeView) -> capacity.CapacityFacts:
        """All that is known of the node at this moment, without asking anybody."""
        kind = node.instance_type
        return capacity.CapacityFacts(
            node=node,
            spec=None if kind is None else self._catalog.spec(kind),
            builtin=None if kind is None else self._catalog.builtin(kind),
            learned=None if kind is None else self._catalog.learned(kind),
            probe=self._probes.state(node),
            requested=self._pods.requested(node.name, self._policy.resource),
        )


def _notes(plan: Plan, lost: list[Lost]) -> tuple[tuple[str, object], ...]:
    notes: tuple[tuple[str, object], ...] = (
        ("reason", plan.reason.value),
        ("because", plan.because),
        ("actions", [type(action).__name__ for action in plan.actions]),
    )
    return (*notes, ("lost", [outcome.why for outcome in lost])) if lost else notes
