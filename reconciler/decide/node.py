"""What should be done about a node? Its memory first, then its sharing; and pods may come when both allow it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce

from reconciler.decide import capacity, node_claim, second_opinion, slicing, startup
from reconciler.decide.capacity import Draft
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.node_claim import ClaimFacts, ClaimFinding
from reconciler.decide.sharing_answer import FOLLOWS
from reconciler.decide.slicing import SharingDecision, SharingFacts
from reconciler.decide.verdict import Verdict
from reconciler.model.node import NodeClaimView
from reconciler.model.plan import Action, Advertise, Announce, ClearTaint, Plan, SetTaint
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.sharing import PluginConfig, Profile


@dataclass(frozen=True, slots=True)
class NodePolicy:
    capacity: CapacityPolicy
    slicing: SlicingPolicy
    patience: timedelta = timedelta(minutes=10)
    """How long a NodeClaim may wait for something of ours before people are told."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    memory: CapacityFacts
    plugin: PluginConfig | None = None
    """The device plugin's ConfigMap; None: there is none."""
    plugin_readable: bool = True
    """Whether that may be read."""
    plugin_pods: tuple[PluginPod, ...] = ()
    """The device plugin's pods on the node, newest last."""
    held: int = 0
    """How many GPUs and slices the node's running pods hold."""
    pool_label: str = ""
    """What the template of the node's NodePool sets as the plugin's config label; empty: nothing."""
    claim: NodeClaimView | None = None
    """What Karpenter made the node for; None: it did not."""


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """Both answers, and the one plan that carries them out."""

    verdict: Verdict
    sharing: SharingDecision
    plan: Plan
    opinions: tuple[str, ...] = ()
    """What other parties' labels say that differs (decide/second_opinion)."""
    claim: Announce | None = None
    """What is to be told of the node's NodeClaim, once for as long as it stays the same."""


def decide(facts: NodeFacts, policy: NodePolicy, now: datetime) -> NodeDecision:
    """What to do about the node now. Total: every set of facts has an answer."""
    node = facts.memory.node
    memory = capacity.draft(facts.memory, policy.capacity, now)
    sharing = slicing.decide(_sharing_facts(facts, memory), policy.slicing, now)
    memory_holds = memory.holds_taint(node, policy.capacity)
    # The list of taints is written against the node's version, which every patch of the status moves.
    busy = bool(memory.words or sharing.actions)
    gate = startup.gate(node, memory_holds or sharing.holds, busy=busy)
    if memory.words:
        sharing = _after(sharing)
    said = _in_one_patch(memory.words, sharing.actions)
    actions = capacity.in_order((*said, *gate.actions, *memory.errands))
    of_claim = ClaimFinding()
    if facts.claim is not None:
        known = ClaimFacts(facts.claim, node, memory.verdict, sharing, memory_holds)
        of_claim = node_claim.finding(known, policy.capacity, policy.patience, now)
    revisit = capacity.sooner(capacity.sooner(memory.revisit, sharing.revisit), of_claim.revisit)
    # What is said of a node without a rule or a GPU is worth a word only where something of ours is withdrawn.
    because = memory.because(sharing.because if sharing.said or sharing.actions else "", gate.aside)
    return NodeDecision(
        verdict=memory.verdict,
        sharing=sharing,
        plan=Plan(memory.verdict.reason, because, actions, revisit),
        opinions=second_opinion.opinions(node, memory.verdict, _settled_profile(facts, sharing)),
        claim=of_claim.announce,
    )


def _in_one_patch(one: tuple[Action, ...], other: tuple[Action, ...]) -> list[Action]:
    """Both decisions' actions, their patches of the status as one.

    Else the echo of the first comes before the second, and the next pass plans that one once more.
    """
    patches = [action for action in (*one, *other) if isinstance(action, Advertise)]
    if len(patches) < 2:
        return [*one, *other]
    both = reduce(_joined, patches)
    rest = [action for action in (*one, *other) if not isinstance(action, Advertise)]
    return [both, *rest]


def _joined(one: Advertise, other: Advertise) -> Advertise:
    return replace(
        one,
        resources={**one.resources, **other.resources},
        labels={**one.labels, **other.labels},
        annotations={**one.annotations, **other.annotations},
        condition=one.condition or other.condition,
        second_condition=other.condition if one.condition is not None else None,
        drop_condition=one.drop_condition or other.drop_condition,
    )


def _settled_profile(facts: NodeFacts, sharing: SharingDecision) -> Profile | None:
    """The profile that the plugin follows; None while it does not."""
    if sharing.reason not in FOLLOWS or facts.plugin is None:
        return None
    found = facts.plugin.profiles.get(sharing.profile)
    return found if isinstance(found, Profile) else None


def _sharing_facts(facts: NodeFacts, memory: Draft) -> SharingFacts:
    return SharingFacts(
        node=facts.memory.node,
        memory=memory.verdict,
        settled=memory.settled,
        plugin=facts.plugin,
        plugin_readable=facts.plugin_readable,
        pods=facts.plugin_pods,
        held=facts.held,
        pool_label=facts.pool_label,
    )


def _after(sharing: SharingDecision) -> SharingDecision:
    """The same without what is written against a version that this pass's own patch moves: the echo brings it back."""
    kept = tuple(action for action in sharing.actions if not isinstance(action, SetTaint | ClearTaint))
    return sharing if len(kept) == len(sharing.actions) else replace(sharing, actions=kept)
