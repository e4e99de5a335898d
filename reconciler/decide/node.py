"""What should be done about a node? Its memory first, then its sharing; and pods may come when both allow it."""

from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.decide import capacity, slicing, startup
from reconciler.decide.capacity import Draft
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.slicing import SharingDecision, SharingFacts
from reconciler.decide.verdict import Verdict
from reconciler.model.plan import ClearTaint, Plan, SetTaint
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.sharing import PluginConfig


@dataclass(frozen=True, slots=True)
class NodePolicy:
    capacity: CapacityPolicy
    slicing: SlicingPolicy


@dataclass(frozen=True, slots=True)
class NodeFacts:
    memory: CapacityFacts
    plugin: PluginConfig | None = None
    """The device plugin's ConfigMap; None: there is none."""
    plugin_pods: tuple[PluginPod, ...] = ()
    """The device plugin's pods on the node, newest last."""
    held: int = 0
    """How many GPUs and slices the node's running pods hold."""
    pool_label: str = ""
    """What the template of the node's NodePool sets as the plugin's config label; empty: nothing."""


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """Both answers, and the one plan that carries them out."""

    verdict: Verdict
    sharing: SharingDecision
    plan: Plan


def decide(facts: NodeFacts, policy: NodePolicy, now: datetime) -> NodeDecision:
    """What to do about the node now. Total: every set of facts has an answer."""
    node = facts.memory.node
    memory = capacity.draft(facts.memory, policy.capacity, now)
    sharing = slicing.decide(_sharing_facts(facts, memory), policy.slicing, now)
    holds = memory.holds_taint(node, policy.capacity) or sharing.holds
    # The list of taints is written against the node's version, which every patch of the status moves.
    busy = bool(memory.words or sharing.actions)
    gate = startup.gate(node, holds, busy=busy)
    if memory.words:
        sharing = _after(sharing)
    actions = capacity.in_order((*memory.words, *sharing.actions, *gate.actions, *memory.errands))
    revisit = capacity.sooner(memory.revisit, sharing.revisit)
    because = memory.because(sharing.because, gate.aside)
    return NodeDecision(memory.verdict, sharing, Plan(memory.verdict.reason, because, actions, revisit))


def _sharing_facts(facts: NodeFacts, memory: Draft) -> SharingFacts:
    return SharingFacts(
        node=facts.memory.node,
        memory=memory.verdict,
        settled=memory.settled,
        plugin=facts.plugin,
        pods=facts.plugin_pods,
        held=facts.held,
        pool_label=facts.pool_label,
    )


def _after(sharing: SharingDecision) -> SharingDecision:
    """The same without what is written against a version that this pass's own patch moves: the echo brings it back."""
    kept = tuple(action for action in sharing.actions if not isinstance(action, SetTaint | ClearTaint))
    return sharing if len(kept) == len(sharing.actions) else replace(sharing, actions=kept)
