"""What is known when overlays are decided on? All NodePools, all NodeOverlays, and every type that may be launched."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.decide.expected import TypeFacts
from reconciler.model import names
from reconciler.model.node import InstanceType, NodeView
from reconciler.model.node_pool import NodePoolView
from reconciler.model.overlay import OverlayView
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import PluginConfig

_NOT_AS_WANTED = frozenset(
    {
        SharingReason.HOST_PLUGIN,
        SharingReason.MPS,
        SharingReason.MIG,
        SharingReason.VM_WORKLOAD,
        SharingReason.FOREIGN_LABEL,
        SharingReason.REVERTED,
    }
)
"""Answers by which nodes offer something else than their rule says, for good."""


@dataclass(frozen=True, slots=True)
class OverlayFacts:
    pools: tuple[NodePoolView, ...] = ()
    overlays: tuple[OverlayView, ...] = ()
    """Everybody's."""
    types: Mapping[InstanceType, TypeFacts] = field(default_factory=dict)
    """All types that we know anything of."""
    plugin: PluginConfig | None = None
    refusals: Mapping[str, str] = field(default_factory=dict)
    """NodePools whose nodes do not share as their rule says, with a clause that says why."""
    pools_known: bool = True
    """False: NodePools cannot be read, or their kind is not there."""
    overlays_known: bool = True
    """The same of NodeOverlays."""


def refusals(nodes: Iterable[NodeView]) -> dict[str, str]:
    """NodePools with nodes that will not share as their rule says."""
    found: dict[str, str] = {}
    for node in sorted(nodes, key=lambda node: node.name):
        pool, clause = node.labels.get(names.KARPENTER_NODEPOOL), refuses(node)
        if pool is not None and clause:
            found.setdefault(pool, clause)
    return found


def refuses(node: NodeView) -> str:
    """A clause that says why the node does not share as its rule says, and will not; empty where it does or may."""
    condition = node.sharing_condition
    if condition is None or condition.status != "False" or condition.reason not in _NOT_AS_WANTED:
        return ""
    return f"node {node.name} of the NodePool says {condition.reason}"
