"""decide/node.py: memory and sharing in one pass, one patch, and one gate for pods."""

from dataclasses import replace
from datetime import timedelta

from reconciler.decide.capacity import plan
from reconciler.decide.node import NodeFacts, NodePolicy, decide
from reconciler.model import names
from reconciler.model.gpu import NoGpu
from reconciler.model.node import InstanceType, Taint
from reconciler.model.plan import Advertise, Announce, ClearTaint, SetTaint
from reconciler.model.policy import CapacityPolicy, MultiGpu, SlicingPolicy, SlicingRule
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import MemoryPerSlice, PluginConfig, Profile, Replicas, profile_name
from tests.decide.fake_node import NOW, after, facts_of, node, settled
from tests.decide.figures import T4

HELD = (Taint(names.STARTUP_TAINT, "NoSchedule"),)
PLUGIN = PluginConfig({profile_name(count): Profile(count) for count in range(1, 17)}, changed=NOW - timedelta(hours=1))
MEMORY = CapacityPolicy()
FOUR = NodePolicy(MEMORY, SlicingPolicy(rules=(SlicingRule(Replicas(4)),)))


def test_a_join_says_both_in_one_patch_and_touches_no_taint_beside_it() -> None:
    """A patch of the status moves the version that a list of taints is written against."""
    facts = NodeFacts(facts_of(node(taints=HELD), spec=T4.spec()), PLUGIN)
    actions = decide(facts, FOUR, NOW).plan.actions

    [patch] = [one for one in actions if isinstance(one, Advertise)]
    assert patch.labels[names.PLUGIN_CONFIG] == "ts-4"
    assert set(patch.resources) == {MEMORY.resource}
    told = [one.type for one in (patch.condition, patch.second_condition) if one is not None]
    assert told == [names.CONDITION, names.SHARING_CONDITION]
    assert not [one for one in actions if isinstance(one, SetTaint | ClearTaint)]


def test_a_fence_waits_for_the_pass_after_the_patch_of_the_memory() -> None:
    """Without the startup taint a switch begins with a fence, which is a list of taints."""
    facts = NodeFacts(facts_of(node(), spec=T4.spec()), PLUGIN)
    assert not [one for one in decide(facts, FOUR, NOW).plan.actions if isinstance(one, SetTaint)]

    memory, _ = settled(replace(facts.memory, probe=T4.probed()), MEMORY)
    [fence] = decide(replace(facts, memory=memory), FOUR, NOW).plan.actions
    assert isinstance(fence, SetTaint)
    assert fence.taint.key == names.FENCE_TAINT


def test_the_startup_taint_stays_for_the_sharing_when_the_memory_is_done() -> None:
    probed = facts_of(node(taints=HELD), spec=T4.spec(), probe=T4.probed())
    memory = after(probed, plan(probed, MEMORY, NOW))
    decision = decide(NodeFacts(memory, PLUGIN), FOUR, NOW)

    assert "the startup taint stays until the device plugin" in decision.plan.because
    assert not [one for one in decision.plan.actions if isinstance(one, ClearTaint)]


def test_without_a_rule_the_startup_taint_waits_for_the_memory_alone() -> None:
    probed = facts_of(node(taints=HELD), spec=T4.spec(), probe=T4.probed())
    memory = after(probed, plan(probed, MEMORY, NOW))
    decision = decide(NodeFacts(memory, PLUGIN), NodePolicy(MEMORY, SlicingPolicy()), NOW)

    assert [type(one) for one in decision.plan.actions] == [ClearTaint]
    assert decision.sharing.reason is SharingReason.NO_RULE


def test_where_nothing_will_be_advertised_slices_by_memory_are_not_waited_for() -> None:
    """Several GPUs under `largest`: the label tells a GPU's memory, and without probes that is all there will be."""
    memory = CapacityPolicy(multi_gpu=MultiGpu.LARGEST, probe=False)
    rule = SlicingRule(MemoryPerSlice(4096))
    four = node("g4dn.12xlarge", taints=HELD, capacity={"cpu": 48000, "pods": 234, "nvidia.com/gpu": 4})
    facts, _ = settled(facts_of(four, spec=replace(T4.spec(), count=4)), memory)
    decision = decide(NodeFacts(facts, PLUGIN), NodePolicy(memory, SlicingPolicy(rules=(rule,))), NOW)

    assert decision.sharing.reason is not SharingReason.AWAITING_MEMORY
    assert decision.sharing.profile == "ts-3"


def test_of_a_node_that_no_rule_is_for_or_that_has_no_gpu_sharing_says_nothing() -> None:
    plain = decide(NodeFacts(facts_of(node(), spec=T4.spec())), NodePolicy(MEMORY, SlicingPolicy()), NOW)
    assert not plain.sharing.said
    assert "rule" not in plain.plan.because

    bare = NodeFacts(facts_of(node("m5.large", capacity={"cpu": 2000}), spec=NoGpu(InstanceType("m5.large"))))
    assert decide(bare, FOUR, NOW).plan.because == "m5.large has no GPU"


def test_on_a_node_that_karpenter_empties_nothing_is_begun_and_what_is_advertised_stays_true() -> None:
    """A kubelet that restarts there admits the pods that are left anew, and fails those without their memory."""
    emptied = (*HELD, Taint(names.KARPENTER_DISRUPTED_TAINT, "NoSchedule"))
    facts = NodeFacts(facts_of(node(taints=emptied), spec=T4.spec()), PLUGIN)
    decision = decide(facts, FOUR, NOW)

    assert not decision.sharing.said
    assert [type(one) for one in decision.plan.actions] == [Announce, Advertise]

    probed = facts_of(node(taints=emptied), spec=T4.spec(), probe=T4.probed())
    done = after(probed, plan(probed, MEMORY, NOW))
    assert decide(NodeFacts(done, PLUGIN), NodePolicy(MEMORY, SlicingPolicy()), NOW).plan.actions == ()
