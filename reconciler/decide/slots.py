"""How many GPUs and slices will a node of this type in this NodePool offer? Never more than it will.

A rule may ask for what is known only once the node is there (a label, how it was bought). Then every answer that it may
come to is looked at, and the least of them counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.decide import launchable, wish
from reconciler.decide.expected import Expected, fresh
from reconciler.decide.requirement import Fit, Labels, fit
from reconciler.decide.rule import Found, called, names_model
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.wish import Uncounted, replicas_of
from reconciler.model import names
from reconciler.model.node import CapacityType, InstanceType, Resources
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.sharing import PluginConfig, Profile, UnusableProfile


@dataclass(frozen=True, slots=True)
class Slots:
    """`amounts`: of the GPU resources, None where they cannot be told. `why`: a clause."""

    amounts: Resources | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """One type in one NodePool, and what is known of the device plugin."""

    pool: NodePoolView
    kind: InstanceType
    expected: Expected
    labels: Labels
    """What may stand on a node of the type."""
    plugin: PluginConfig | None
    refusals: Mapping[str, str] = field(default_factory=dict)
    """Of NodePools whose nodes do not share as their rule says: a clause that says why."""


def slots(facts: SlotFacts, policy: SlicingPolicy, now: datetime) -> Slots:
    """What the node will offer at least. Without a rule: its GPUs."""
    if facts.expected.gpus < 1:
        return Slots(None, "nobody says how many GPUs it has")
    set_by_template = facts.pool.labels.get(names.PLUGIN_CONFIG)
    if set_by_template is not None:
        return _of_profile(facts, set_by_template, None, "by the template's own label", policy)
    outcomes = [_of_rule(facts, found, policy, now) for found in _candidates(facts, policy.rules)]
    if any(outcome.amounts is None for outcome in outcomes):
        return next(outcome for outcome in outcomes if outcome.amounts is None)
    if facts.pool.name in facts.refusals and any(found is not None for found in _candidates(facts, policy.rules)):
        return Slots(None, facts.refusals[facts.pool.name])
    resources = {name for outcome in outcomes for name in outcome.amounts or {}}
    least = {name: min((one.amounts or {}).get(name, 0) for one in outcomes) for name in resources}
    several = f"the least of {len(outcomes)} rules that may be for it, {outcomes[0].why} among them"
    return Slots(least, outcomes[0].why if len(outcomes) == 1 else several)


def _candidates(facts: SlotFacts, rules: Sequence[SlicingRule]) -> Iterator[Found | None]:
    """Every rule that may turn out to be for the node, up to the first that surely is; None: perhaps no rule."""
    for number, rule in enumerate(rules, start=1):
        answer = _fits(facts, rule)
        if answer is not Fit.NO:
            yield Found(rule, called(rule, number))
        if answer is Fit.YES:
            return
    yield None


def _fits(facts: SlotFacts, rule: SlicingRule) -> Fit:
    pool = facts.pool
    answers = [_has_label(facts, key, value) for key, value in rule.labels.items()]
    if rule.instance_types:
        answers.append(_sure(facts.kind in rule.instance_types))
    if rule.families:
        answers.append(_sure(facts.kind.partition(".")[0] in rule.families))
    if rule.node_pools:
        answers.append(_sure(pool.name in rule.node_pools))
    if rule.gpu_models:
        answers.append(_sure(names_model(rule, facts.expected.verdict.model)))
    if rule.capacity_types:
        may = _capacity_types(pool)
        answers.append(
            Fit.YES if may <= rule.capacity_types else Fit.NO if may.isdisjoint(rule.capacity_types) else Fit.MAYBE
        )
    return min(answers, default=Fit.YES)


def _sure(holds: bool) -> Fit:
    return Fit.YES if holds else Fit.NO


def _has_label(facts: SlotFacts, key: str, value: str) -> Fit:
    """Whether a node of the pool will carry the label."""
    wanted = Requirement(key, "In", (value,))
    if key == names.KARPENTER_NODEPOOL:
        return _sure(value == facts.pool.name)
    if key in facts.labels:
        return fit(wanted, facts.labels[key])
    said = [one for one in launchable.demands(facts.pool) if one.key == key]
    if any(fit(one, frozenset({value})) is Fit.NO for one in said):
        return Fit.NO
    return Fit.YES if any(one.operator == "In" and one.values == (value,) for one in said) else Fit.MAYBE


def _capacity_types(pool: NodePoolView) -> frozenset[CapacityType]:
    """How the pool's nodes may be bought."""
    said = [one for one in launchable.demands(pool) if one.key == names.KARPENTER_CAPACITY_TYPE]
    every = (CapacityType.ON_DEMAND, CapacityType.SPOT, CapacityType.RESERVED)
    return frozenset(one for one in every if all(fit(need, frozenset({one.value})) is not Fit.NO for need in said))


def _of_rule(facts: SlotFacts, found: Found | None, policy: SlicingPolicy, now: datetime) -> Slots:
    if found is None:
        return Slots({policy.gpu_resource: facts.expected.gpus}, "no rule for sharing")
    node = fresh(facts.kind, facts.pool.labels, now)
    known = SharingFacts(node, facts.expected.verdict, settled=True, plugin=facts.plugin, pods=(), held=0)
    asked = wish.of(found, known, ours=None)
    if isinstance(asked, Uncounted):
        return Slots(None, asked.because)
    return _of_profile(facts, asked.profile, asked.replicas, asked.because, policy)


def _of_profile(facts: SlotFacts, name: str, replicas: int | None, because: str, policy: SlicingPolicy) -> Slots:
    """What the device plugin offers by one key of its ConfigMap."""
    if facts.plugin is None:
        return Slots(None, f"profile {name} is wanted {because}, and there is no ConfigMap {policy.config_map}")
    profile = facts.plugin.profiles.get(name)
    if not isinstance(profile, Profile) or profile.mps:
        return Slots(None, f"profile {name} is wanted {because}, and {_fault(profile, policy)}")
    said = replicas if replicas is not None else replicas_of(name)
    if said is not None and profile.replicas != said:
        return Slots(None, f"profile {name} is wanted {because}, and it makes {profile.replicas} of each GPU")
    offered = facts.expected.gpus * profile.replicas
    if profile.renamed:
        # Karpenter knows nvidia.com/gpu of the type by itself, and the node will have none under that name.
        return Slots({policy.gpu_resource: 0, names.GPU_SHARED_RESOURCE: offered}, because)
    return Slots({policy.gpu_resource: offered}, because)


def _fault(profile: Profile | UnusableProfile | None, policy: SlicingPolicy) -> str:
    if profile is None:
        return f"ConfigMap {policy.config_map} has no such key"
    return f"the plugin would refuse it: {profile.why}" if isinstance(profile, UnusableProfile) else "it shares by MPS"
