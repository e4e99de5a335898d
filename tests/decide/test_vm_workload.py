"""A node whose GPUs the GPU Operator gives to virtual machines: what we had there goes, and pods may come."""

from dataclasses import replace

from reconciler.model import names
from reconciler.model.node import Taint
from reconciler.model.plan import Advertise, ClearTaint
from reconciler.model.policy import CapacityPolicy
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord
from tests.decide.fake_node import facts_of, node, only, settled
from tests.decide.figures import T4

POLICY = CapacityPolicy()
LENT = {names.OPERATOR_WORKLOAD: "vm-passthrough"}
HELD = (Taint(names.STARTUP_TAINT, "NoSchedule"),)


def test_what_was_advertised_is_withdrawn_when_the_gpus_are_lent_and_comes_back_with_them() -> None:
    facts, _ = settled(facts_of(node(), spec=T4.spec(), probe=T4.probed()), POLICY)
    own = dict(facts.node.labels)
    lent = replace(facts, node=replace(facts.node, labels={**own, **LENT}))
    lent, plans = settled(lent, POLICY)

    assert [what.reason for what in plans] == [Reason.VM_WORKLOAD]
    assert only(plans[0], Advertise).resources == {POLICY.resource: None}
    assert dict(lent.node.labels) == {"kubernetes.io/os": "linux", **LENT}
    assert lent.node.condition is not None
    assert (lent.node.condition.status, lent.node.condition.reason) == ("False", "VMWorkload")
    assert isinstance(lent.node.record, CapacityRecord)
    assert lent.node.record.advertised_mib is None

    labels = {**lent.node.labels, names.OPERATOR_WORKLOAD: "container"}
    back, plans = settled(replace(lent, node=replace(lent.node, labels=labels)), POLICY)
    assert [what.reason for what in plans] == [Reason.VERIFIED]
    assert back.node.capacity == facts.node.capacity


def test_the_startup_taint_goes_and_no_probe_is_run() -> None:
    """No driver for containers is there, so a probe could only fail; and nobody would open the node later."""
    facts = facts_of(node(labels=LENT, taints=HELD, capacity={"pods": 29}), spec=T4.spec())
    facts, plans = settled(facts, POLICY)

    assert [action for what in plans for action in what.actions if isinstance(action, ClearTaint)]
    assert facts.node.taints == ()
    assert not any(type(action).__name__ == "RunProbe" for what in plans for action in what.actions)
