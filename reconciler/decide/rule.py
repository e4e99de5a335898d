"""Which rule for sharing is for this node?"""

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.decide import label
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.policy import SlicingRule


@dataclass(frozen=True, slots=True)
class Undecided:
    """A rule before all that fit asks for the GPU's model, which is not known yet."""

    rule: str


@dataclass(frozen=True, slots=True)
class Found:
    rule: SlicingRule
    name: str
    """How sentences call it."""


def find(rules: Sequence[SlicingRule], node: NodeView, memory: Verdict, *, settled: bool) -> Found | Undecided | None:
    """The first rule all of whose selectors hold. `settled`: a model that is not known will not become known."""
    model = memory.model or node.labels.get(names.LABEL_MODEL, "")
    for number, rule in enumerate(rules, start=1):
        if not _place_fits(rule, node):
            continue
        name = called(rule, number)
        if not rule.gpu_models or names_model(rule, model):
            return Found(rule, name)
        if not model and not settled:
            return Undecided(name)
    return None


def _place_fits(rule: SlicingRule, node: NodeView) -> bool:
    """Every selector but that of the model."""
    kind = node.instance_type or ""
    return (
        all(node.labels.get(name) == value for name, value in rule.labels.items())
        and (not rule.instance_types or kind in rule.instance_types)
        and (not rule.families or kind.partition(".")[0] in rule.families)
        and (not rule.capacity_types or node.capacity_type in rule.capacity_types)
        and (not rule.node_pools or node.labels.get(names.KARPENTER_NODEPOOL) in rule.node_pools)
    )


def called(rule: SlicingRule, number: int) -> str:
    """How sentences call the rule; `number` is its place in the list, from 1."""
    return rule.name or f"number {number}"


def names_model(rule: SlicingRule, model: str) -> bool:
    """Whether the model is one of those that the rule lists."""
    return _spelled(model) in {_spelled(one) for one in rule.gpu_models}


def _spelled(model: str) -> str:
    """As in our label, without regard to case."""
    return label.valid(model).casefold()
