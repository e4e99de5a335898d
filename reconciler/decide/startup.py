"""May pods come? The startup taint goes when the value is true and the device plugin has its GPUs, or never will."""

from dataclasses import dataclass

from reconciler.decide.claim import Claim
from reconciler.decide.verdict import SILENT
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.plan import Action, ClearTaint
from reconciler.model.policy import CapacityPolicy
from reconciler.model.reasons import Reason

_AT_ONCE = frozenset({Reason.NO_GPU, Reason.NOT_NVIDIA, Reason.MULTI_GPU, Reason.MIG, Reason.VM_WORKLOAD})
"""Nothing will be advertised here by decision, so there is nothing to wait for."""

_BROKEN = frozenset({Reason.NO_NVML, Reason.CONTESTED, Reason.NOTHING_LEFT, Reason.WOULD_OVERCOMMIT})


def waits_for(claim: Claim, node: NodeView, policy: CapacityPolicy, *, probe_over: bool) -> str:
    """Why the taint must stay, as a clause; empty where it may go."""
    verdict = claim.verdict
    if verdict.reason in _AT_ONCE or (verdict.reason is Reason.GPU_LOST and verdict.mib is None):
        return ""
    if verdict.reason in SILENT or verdict.reason in _BROKEN:
        return "until that has changed"
    if verdict.reason is not Reason.FOREIGN_VALUE:
        if verdict.mib is None:
            return "until that is known"
        if not claim.holds:
            return "until the node shows the figure"
        if not probe_over:
            return "until the probe has answered"
    return waits_for_plugin(node, policy)


def waits_for_plugin(node: NodeView, policy: CapacityPolicy) -> str:
    """The same clause where nothing is wrong with the memory, and only the device plugin's part is not there."""
    if any(node.allocatable.get(name, 0) > 0 for name in (policy.gpu_resource, names.GPU_SHARED_RESOURCE)):
        return ""
    return f"until the device plugin offers {policy.gpu_resource}"


@dataclass(frozen=True, slots=True)
class Gate:
    """What becomes of the startup taint now, and the clause that says so."""

    actions: tuple[Action, ...] = ()
    aside: str = ""


def gate(node: NodeView, holds: str, *, busy: bool) -> Gate:
    """The taint goes when nothing holds it, in a pass of its own. `busy`: this pass writes on the node already.

    The patch of the status moves the version that the list of taints is written against.
    """
    if not node.has_startup_taint or node.disrupted:
        return Gate()  # nobody needs to come where Karpenter sends everybody away
    if holds:
        return Gate(aside=f"the startup taint stays {holds}")
    return Gate() if busy else Gate((clear(node),), "the startup taint is removed")


def clear(node: NodeView) -> ClearTaint:
    """Every taint but ours, in order: the list is written whole."""
    keep = tuple(taint for taint in node.taints if taint.key != names.STARTUP_TAINT)
    return ClearTaint(node.key, names.STARTUP_TAINT, keep, node.resource_version)
