"""decide/node_claim.py: what Karpenter waits for on our account is told with its cause, and nothing else is."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.node_claim import ClaimFacts, ClaimFinding, finding
from reconciler.decide.slicing import SharingDecision
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.node import Condition, NodeClaimView, Resources, Taint
from reconciler.model.plan import Announce
from reconciler.model.policy import CapacityPolicy
from reconciler.model.quantity import MIB
from reconciler.model.reasons import ClaimReason, Reason, SharingReason
from tests.decide.fake_node import NOW, node
from tests.decide.situation import PLAIN

POLICY = CapacityPolicy()
MEMORY, GPU = POLICY.resource, names.GPU_RESOURCE
PATIENCE = timedelta(minutes=10)
HELD = (Taint(names.STARTUP_TAINT, "NoSchedule"),)
BROKEN = Verdict(Reason.NO_NVML, "no GPU can be used on this node: GPULost")
FINE = Verdict(Reason.VERIFIED, "14910 MiB advertised", mib=14910)
UNSHARED = SharingDecision(SharingReason.NO_RULE, "no rule")
STUCK = SharingDecision(SharingReason.NO_PLUGIN_POD, "no plugin pod is on the node", holds="until it follows")
SLICED = SharingDecision(SharingReason.SLICED, "4 slots")


def condition(kind: str, status: str, reason: str = "", message: str = "", minutes: float = 60) -> Condition:
    return Condition(kind, status, reason, message, NOW - timedelta(minutes=minutes))


def waiting(message: str, reason: str = "ResourceNotRegistered") -> Condition:
    return condition("Initialized", "Unknown", reason, message)


MISSING = waiting('Resource "x" was requested but not registered')
TAINTED = waiting('StartupTaint "gpu-reconciler.io/not-ready:NoSchedule" still exists', "StartupTaintsExist")
READY = condition("Initialized", "True")
SHORT = condition("ConsistentStateFound", "False", "ConsistencyCheckFailed", "Consistency Check Failed")


def claim(
    initialized: Condition | None = MISSING,
    requests: Resources | None = None,
    consistent: Condition | None = None,
    planned: Resources | None = None,
) -> NodeClaimView:
    """Of pods that ask for our memory, unless told otherwise."""
    asked = {MEMORY: 4096 * MIB, "cpu": 1000} if requests is None else requests
    return NodeClaimView("gpu-abc", None, None, initialized, consistent, asked, planned or {})


def facts(of: NodeClaimView | None = None, **others: object) -> ClaimFacts:
    """A node of a claim of which an hour has brought nothing."""
    blank = ClaimFacts(of or claim(), node(capacity=PLAIN), FINE, UNSHARED)
    return replace(blank, **others)  # type: ignore[arg-type]  # the caller's fields are checked by the dataclass


SLOT = claim(requests={GPU: 1})


@dataclass(frozen=True)
class Row:
    name: str
    facts: ClaimFacts
    says: str = ""
    reason: ClaimReason = ClaimReason.NOT_INITIALIZED


ROWS = [
    Row("a claim of which Karpenter says nothing is no news", facts(claim(None), memory=BROKEN)),
    Row("an initialized claim is fine", facts(claim(READY))),
    # A resource that does not come
    Row(
        "memory that is not advertised is told with the memory's reason",
        facts(memory=BROKEN),
        f"NodeClaim gpu-abc is not initialized, so Karpenter will not consolidate this node: {MEMORY} is asked for and"
        " not there: no GPU can be used on this node: GPULost",
    ),
    Row(
        "memory that should be there and is not is told as well",
        facts(),
        f"{MEMORY} is asked for and not there yet: 14910 MiB advertised",
    ),
    Row(
        "memory that has come meanwhile is fine",
        facts(node=node(capacity={**PLAIN, MEMORY: 14910 * MIB})),
    ),
    Row(
        "slots that do not come are told with the sharing's reason",
        facts(SLOT, sharing=STUCK),
        "nvidia.com/gpu is asked for and not offered: no plugin pod is on the node",
    ),
    Row(
        "without a rule of ours the plugin is missing all the same",
        facts(SLOT),
        "no device plugin offers it on this node",
    ),
    Row(
        "a resource that the profile renames is told as that",
        facts(SLOT, sharing=SLICED, node=node(capacity={**PLAIN, "nvidia.com/gpu.shared": 4})),
        "nvidia.com/gpu is asked for, and the device plugin offers nvidia.com/gpu.shared: its profile renames",
    ),
    Row("a resource of somebody else's is somebody else's", facts(claim(requests={"vpc.amazonaws.com/efa": 1}))),
    # The startup taint
    Row(
        "our taint that the memory holds is told with the memory's reason",
        facts(
            claim(TAINTED),
            node=node(taints=HELD),
            memory=BROKEN,
            memory_holds="until that has changed",
            sharing=STUCK,
        ),
        "the startup taint stays until that has changed: no GPU can be used",
    ),
    Row(
        "our taint that the sharing holds is told with the sharing's reason",
        facts(claim(TAINTED), node=node(taints=HELD), sharing=STUCK),
        "the startup taint stays until it follows: no plugin pod is on the node",
    ),
    Row(
        "a plugin that offers nothing is told with the sharing's reason, though the memory waits for it as well",
        facts(
            claim(TAINTED),
            node=node(capacity={}, taints=HELD),
            sharing=STUCK,
            memory_holds=f"until the device plugin offers {GPU}",
        ),
        "the startup taint stays until it follows: no plugin pod is on the node",
    ),
    Row(
        "without a rule of ours a plugin that offers nothing is the cause by itself",
        facts(
            claim(TAINTED), node=node(capacity={}, taints=HELD), memory_holds=f"until the device plugin offers {GPU}"
        ),
        f"consolidate this node: the startup taint stays until the device plugin offers {GPU}",
    ),
    Row("our taint that is going now is no news", facts(claim(TAINTED), node=node(taints=HELD))),
    Row("our taint that is gone is no news", facts(claim(TAINTED), memory_holds="until that has changed")),
    Row(
        "a startup taint of somebody else's is somebody else's",
        facts(
            claim(waiting('StartupTaint "node.cilium.io/agent-not-ready:NoExecute" still exists', TAINTED.reason)),
            node=node(taints=HELD),
            memory_holds="until that has changed",
        ),
    ),
    Row(
        "a node that is not ready is the kubelet's",
        facts(claim(waiting("Node status is NotReady", "NodeNotReady")), memory=BROKEN),
    ),
    # Going, or not there
    Row("a deleted node is left alone", facts(node=node(capacity=PLAIN, deleting=True))),
    Row(
        "a node that Karpenter empties is left alone",
        facts(
            node=node(capacity=PLAIN, taints=(Taint(names.KARPENTER_DISRUPTED_TAINT, "NoSchedule"),)),
        ),
    ),
    Row(
        "a node that is not registered is Karpenter's",
        facts(memory=Verdict(Reason.NOT_READY, "")),
    ),
    # Consistency
    Row(
        "less memory than was planned with is told with both numbers",
        facts(
            claim(READY, consistent=SHORT, planned={MEMORY: 14592 * MIB}),
            memory=replace(FINE, because="12910 MiB advertised, 2000 kept back"),
            node=node(capacity={**PLAIN, MEMORY: 12910 * MIB}),
        ),
        f"Karpenter finds less on this node than NodeClaim gpu-abc promised: 14592 MiB of {MEMORY} were planned with,"
        " 12910 are there: 12910 MiB advertised, 2000 kept back",
        ClaimReason.INCONSISTENT,
    ),
    Row(
        "fewer slots than were planned with are told",
        facts(
            claim(READY, {GPU: 1}, SHORT, {GPU: 4}),
            sharing=SharingDecision(SharingReason.WRONG_COUNT, "the plugin offers 1 of 4"),
            node=node(),
        ),
        "4 of nvidia.com/gpu were planned with, 1 are there: the plugin offers 1 of 4",
        ClaimReason.INCONSISTENT,
    ),
    Row(
        "nine tenths are enough",
        facts(
            claim(READY, consistent=SHORT, planned={MEMORY: 1000 * MIB}),
            node=node(capacity={**PLAIN, MEMORY: 900 * MIB}),
        ),
    ),
    Row("what no pod of the claim asked for is not missed", facts(claim(READY, {}, SHORT, {MEMORY: 14592 * MIB}))),
    Row(
        "what is short of somebody else's is somebody else's",
        facts(claim(READY, {"vpc.amazonaws.com/efa": 1}, SHORT, {"vpc.amazonaws.com/efa": 1})),
    ),
    Row(
        "a consistent claim is fine",
        facts(claim(READY, consistent=condition("ConsistentStateFound", "True"), planned={MEMORY: 14592 * MIB})),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_karpenter_waits_for_is_told_with_its_cause(row: Row) -> None:
    found = finding(row.facts, POLICY, PATIENCE, NOW)

    if not row.says:
        assert found == ClaimFinding()
        return
    assert found.announce is not None
    assert row.says in found.announce.message
    assert (found.announce.reason, found.announce.warning) == (row.reason, True)
    assert found == finding(row.facts, POLICY, PATIENCE, NOW + timedelta(hours=5)), "the same words every time"


@pytest.mark.parametrize(
    ("claim_minutes", "node_minutes", "left"),
    [(9, 60, 1), (60, 9, 1), (10, 60, None), (60, 10, None), (-5, 60, 10)],
    ids=["young condition", "young node", "old enough", "node old enough", "a clock that is behind"],
)
def test_a_node_has_its_time_from_the_moment_it_is_there(
    claim_minutes: float, node_minutes: float, left: float | None
) -> None:
    """The claim waits for the instance first, and that is not for us to explain."""
    since = replace(MISSING, since=NOW - timedelta(minutes=claim_minutes))
    view = node(capacity=PLAIN, created=NOW - timedelta(minutes=node_minutes))
    found = finding(facts(claim(since), node=view, memory=BROKEN), POLICY, PATIENCE, NOW)

    assert (found.announce is None) == (left is not None)
    assert found.revisit == (None if left is None else timedelta(minutes=left))


def test_the_page_of_reasons_lists_these_events() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reasons.md").read_text()

    assert all(f"| `{reason.value}` |" in page for reason in ClaimReason)


@given(
    reason=st.sampled_from([TAINTED.reason, MISSING.reason, "", "NodeNotReady"]),
    message=st.text(max_size=80) | st.just(TAINTED.message),
    amounts=st.dictionaries(st.sampled_from([MEMORY, GPU, names.GPU_SHARED_RESOURCE, "cpu"]), st.integers(0, 2**40)),
    status=st.sampled_from(["True", "False", "Unknown", ""]),
    minutes=st.integers(-100, 100),
    memory=st.sampled_from([BROKEN, FINE]),
    sharing=st.sampled_from([UNSHARED, STUCK, SLICED]),
    taints=st.sampled_from([(), HELD]),
)
def test_there_is_an_answer_to_everything(
    reason: str,
    message: str,
    amounts: Resources,
    status: str,
    minutes: int,
    memory: Verdict,
    sharing: SharingDecision,
    taints: tuple[Taint, ...],
) -> None:
    """One of: nothing, wait, tell; never two of them."""
    said = condition("Initialized", status, reason, message, minutes)
    view = node(capacity=PLAIN, taints=taints)
    of = claim(said, amounts, said, amounts)
    situation = facts(of, memory=memory, sharing=sharing, node=view, memory_holds="until")
    found = finding(situation, POLICY, PATIENCE, NOW)

    assert not (found.announce and found.revisit)
    assert found.announce is None or isinstance(found.announce, Announce)
    assert found.revisit is None or timedelta(0) < found.revisit <= PATIENCE
