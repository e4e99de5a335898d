"""Do this node's GPUs show what they should, in memory and in slices? Key: the node's name."""

from collections.abc import Callable

from reconciler.controllers.echo import Echoes
from reconciler.controllers.ports import Actuator, Catalog, Claims, Nodes, Observer, Plugins, Pods, Pools, Probes
from reconciler.decide import node as nodes
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.node import NodeDecision, NodeFacts, NodePolicy
from reconciler.model import names
from reconciler.model.node import InstanceType, NodeName, NodeView
from reconciler.model.plan import Announce, Lost
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Forbidden, Rejected
from reconciler.runtime.worker import Pass


class NodeGpus:
    """Look, decide, act, for one node a turn."""

    def __init__(
        self,
        *,
        nodes: Nodes,
        pods: Pods,
        probes: Probes,
        plugins: Plugins,
        pools: Pools,
        claims: Claims,
        catalog: Catalog,
        actuator: Actuator,
        observer: Observer,
        ask_type: Callable[[InstanceType], None],
        policy: NodePolicy,
        clock: Clock,
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._probes = probes
        self._plugins = plugins
        self._pools = pools
        self._claims = claims
        self._catalog = catalog
        self._actuator = actuator
        self._observer = observer
        self._ask_type = ask_type
        self._policy = policy
        self._clock = clock
        self._echoes = Echoes()
        self._told: dict[NodeName, Announce] = {}
        """What was last told of each node's NodeClaim. After a restart it is told again: events may repeat."""

    async def reconcile(self, name: NodeName) -> Pass:
        """One turn. Raises what the doors raise; the worker knows what follows."""
        node = self._nodes.get(name)
        if node is None:
            self._observer.gone(name)
            self._told.pop(name, None)
            self._echoes.gone(name)
            return Pass(quiet=True)
        facts = self.facts(node)
        left = self._echoes.left(node, facts.memory.probe)
        if left is not None:
            return Pass(revisit=left, notes=(("because", "our last write has not come back yet"),), quiet=True)
        if node.instance_type is not None and facts.memory.spec is None:
            self._ask_type(node.instance_type)
        decision = nodes.decide(facts, self._policy, self._clock.now())
        plan = decision.plan
        self._observer.planned(node, plan, decision.sharing.reason if decision.sharing.said else None)
        outcomes = await self._actuator.apply(plan.actions)
        self._echoes.wrote(node, facts.memory.probe, plan.actions, outcomes)
        lost = [outcome for outcome in outcomes if isinstance(outcome, Lost)]
        news = await self._tell_of_claim(name, decision.claim)
        return Pass(revisit=plan.revisit, notes=_notes(decision, lost), quiet=not (plan.actions or news))

    async def _tell_of_claim(self, name: NodeName, finding: Announce | None) -> bool:
        if finding is None:
            self._told.pop(name, None)
        if finding is None or self._told.get(name) == finding:
            return False
        try:
            await self._actuator.apply([finding])
        except (Forbidden, Rejected):
            self._told[name] = finding  # it never will be told, and the log says so once
            raise
        self._told[name] = finding
        return True

    def facts(self, node: NodeView) -> NodeFacts:
        """All that is known of the node at this moment, without asking anybody."""
        kind = node.instance_type
        memory = CapacityFacts(
            node=node,
            spec=None if kind is None else self._catalog.spec(kind),
            builtin=None if kind is None else self._catalog.builtin(kind),
            learned=None if kind is None else self._catalog.learned(kind),
            probe=self._probes.state(node),
            requested=self._pods.requested(node.name, self._policy.capacity.resource),
        )
        return NodeFacts(
            memory,
            plugin=self._plugins.config,
            plugin_readable=self._plugins.readable,
            plugin_pods=self._plugins.on_node(node.name),
            held=self._pods.held(node.name),
            pool_label=self._pools.labels(node.labels.get(names.KARPENTER_NODEPOOL, "")).get(names.PLUGIN_CONFIG, ""),
            claim=self._claims.of_node(node.name),
        )


def _notes(decision: NodeDecision, lost: list[Lost]) -> tuple[tuple[str, object], ...]:
    plan = decision.plan
    notes: tuple[tuple[str, object], ...] = (
        ("reason", plan.reason.value),
        *((("sharing", decision.sharing.reason.value),) if decision.sharing.said else ()),
        ("because", plan.because),
        *((("opinions", list(decision.opinions)),) if decision.opinions else ()),
        *((("claim", decision.claim.message),) if decision.claim is not None else ()),
        ("actions", [type(action).__name__ for action in plan.actions]),
    )
    return (*notes, ("lost", [outcome.why for outcome in lost])) if lost else notes
