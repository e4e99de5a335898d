"""Does Karpenter wait for something of ours, or find less on the node than it planned with? And why is that so?

Karpenter initializes a NodeClaim when the node offers every resource that its pods asked for and no startup taint is
left; there is no time limit, and a node that is not initialized is never consolidated nor disrupted. So a resource that
does not come costs money silently. (karpenter pkg/controllers/nodeclaim: lifecycle/initialization.go,
consistency/nodeshape.go, v1.15)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.decide import startup
from reconciler.decide.slicing import SharingDecision
from reconciler.decide.verdict import SILENT, Verdict
from reconciler.model import names
from reconciler.model.node import Condition, NodeClaimView, NodeView
from reconciler.model.plan import Announce
from reconciler.model.policy import CapacityPolicy
from reconciler.model.quantity import MIB
from reconciler.model.reasons import ClaimReason, SharingReason

_RESOURCE_MISSING = "ResourceNotRegistered"
_TAINT_STANDS = "StartupTaintsExist"
_ENOUGH = 0.9
"""Of what Karpenter planned with; less than that is not consistent to it."""
_NOT_SHARED = frozenset({SharingReason.NO_RULE, SharingReason.NOT_READY})


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    claim: NodeClaimView
    node: NodeView
    memory: Verdict
    sharing: SharingDecision
    memory_holds: str = ""
    """Why the startup taint must stay on account of the memory, as a clause; empty where it may go."""


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    announce: Announce | None = None
    """The same for as long as the situation is the same: whoever tells it tells it once."""
    revisit: timedelta | None = None


def finding(facts: ClaimFacts, policy: CapacityPolicy, patience: timedelta, now: datetime) -> ClaimFinding:
    """What to tell about the node's NodeClaim. `patience`: how long a node may take to get all that it was made for."""
    initialized = facts.claim.initialized
    if initialized is None or facts.node.deleting or facts.node.disrupted or facts.memory.reason in SILENT:
        return ClaimFinding()
    if initialized.status == "True":
        return _consistency(facts, policy)
    cause = _keeps_waiting(facts, initialized, policy)
    if not cause:
        return ClaimFinding()
    # The condition is as old as the claim; the launch of the instance is not our time.
    waited = now - max(initialized.since, facts.node.created)
    if waited < patience:
        return ClaimFinding(revisit=min(patience - waited, patience))
    because = f"NodeClaim {facts.claim.name} is not initialized, so Karpenter will not consolidate this node: {cause}"
    return ClaimFinding(Announce(facts.node.key, ClaimReason.NOT_INITIALIZED, because, warning=True))


def _keeps_waiting(facts: ClaimFacts, initialized: Condition, policy: CapacityPolicy) -> str:
    """What of ours Karpenter waits for, and why it does not come; empty where it waits for something else."""
    if initialized.reason == _RESOURCE_MISSING:
        return _missing(facts, policy)
    stands = initialized.reason == _TAINT_STANDS and names.STARTUP_TAINT in initialized.message
    if stands and facts.node.has_startup_taint:
        plugin = startup.waits_for_plugin(facts.node, policy)
        of_memory = "" if facts.memory_holds == plugin else facts.memory_holds
        if of_memory:
            return f"the startup taint stays {of_memory}: {facts.memory.because}"
        if facts.sharing.holds:
            return f"the startup taint stays {facts.sharing.holds}: {facts.sharing.because}"
        if facts.memory_holds:
            return f"the startup taint stays {plugin}"
    return ""


def _missing(facts: ClaimFacts, policy: CapacityPolicy) -> str:
    """Why the node has none of a resource of ours, or of the device plugin's, that the claim's pods asked for."""
    there, asked = facts.node.allocatable, facts.claim.requests
    slots = dict.fromkeys((policy.gpu_resource, names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE))
    absent = [name for name in (policy.resource, *slots) if asked.get(name, 0) > 0 and there.get(name, 0) < 1]
    if not absent:
        return ""  # it has come, and Karpenter will see it; or it is none of ours
    resource = absent[0]
    if resource == policy.resource:
        late = "" if facts.memory.mib is None else " yet"
        return f"{resource} is asked for and not there{late}: {facts.memory.because}"
    others = [name for name in slots if there.get(name, 0) > 0]
    if others:
        return f"{resource} is asked for, and the device plugin offers {others[0]}: its profile renames the resource"
    if facts.sharing.reason in _NOT_SHARED:
        return f"{resource} is asked for, and no device plugin offers it on this node"
    return f"{resource} is asked for and not offered: {facts.sharing.because}"


def _consistency(facts: ClaimFacts, policy: CapacityPolicy) -> ClaimFinding:
    said = facts.claim.consistent
    if said is None or said.status != "False":
        return ClaimFinding()
    short = _shortfalls(facts, policy)
    if not short:
        return (
            ClaimFinding()
        )  # what is short is not ours, or has been made good since: Karpenter looks every 10 minutes
    because = f"Karpenter finds less on this node than NodeClaim {facts.claim.name} promised: {'; '.join(short)}"
    return ClaimFinding(Announce(facts.node.key, ClaimReason.INCONSISTENT, because, warning=True))


def _shortfalls(facts: ClaimFacts, policy: CapacityPolicy) -> list[str]:
    """Our resources, of those asked for, of which the node has less than enough: both numbers and the reason."""
    why: Mapping[str, str] = {policy.gpu_resource: facts.sharing.because, policy.resource: facts.memory.because}
    found = []
    for name, because in why.items():
        planned, there = facts.claim.capacity.get(name, 0), facts.node.capacity.get(name, 0)
        if facts.claim.requests.get(name, 0) > 0 and there < planned * _ENOUGH:
            unit, word = (MIB, " MiB") if name == policy.resource else (1, "")
            amounts = f"{planned // unit}{word} of {name} were planned with, {there // unit} are there"
            found.append(f"{amounts}: {because}" if because else amounts)
    return found
