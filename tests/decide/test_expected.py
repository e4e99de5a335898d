"""decide/expected.py: what a node will show before anybody has looked at it, and never less afterwards."""

from dataclasses import replace

import pytest

from reconciler.aws.builtin import builtin
from reconciler.decide import capacity
from reconciler.decide.expected import TypeFacts, expected, fresh, least_seen, proven_mib
from reconciler.model import names
from reconciler.model.gpu import NoGpu, SpecUnknown
from reconciler.model.node import Condition, InstanceType, NodeKey, NodeName, NodeView
from reconciler.model.policy import CapacityPolicy, MultiGpu, Override
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Source
from tests.decide.fake_node import NOW, facts_of, node
from tests.decide.figures import A10G, ALL, L4_FOUR, L4_SLICE, T4, T4_FOUR, Gpu
from tests.decide.situation import LARGEST, SUM, VERIFIED

POLICY = CapacityPolicy()


def mib(gpu: Gpu, facts: TypeFacts, policy: CapacityPolicy = POLICY) -> int | None:
    return expected(InstanceType(gpu.kind), facts, {}, policy, NOW).mib


def of_table(gpu: Gpu) -> TypeFacts:
    return TypeFacts(builtin=gpu.builtin())


@pytest.mark.parametrize("gpu", ALL, ids=lambda gpu: gpu.kind)
@pytest.mark.parametrize("asked", ["table", "ec2", "learned"])
def test_a_node_never_shows_less_while_it_joins(gpu: Gpu, asked: str) -> None:
    """Neither by the table alone, nor once EC2 has answered, nor once the probe has: whatever was known before."""
    known = {
        "table": of_table(gpu),
        "ec2": TypeFacts(gpu.spec(), gpu.builtin()),
        "learned": TypeFacts(None, gpu.builtin(), gpu.learned()),
    }[asked]
    promised = mib(gpu, known, SUM)
    assert promised is not None
    joining = facts_of(fresh(InstanceType(gpu.kind), {}, NOW), builtin=gpu.builtin(), learned=known.learned)
    for view in (joining, replace(joining, spec=gpu.spec()), replace(joining, spec=gpu.spec(), probe=gpu.probed())):
        shown = capacity.decide(view, SUM, NOW).verdict.mib
        assert shown is not None
        assert promised <= shown


def test_the_table_stands_in_for_ec2_where_ec2s_figure_will_be_the_smaller() -> None:
    """A10G: 23028 by NVML, 22888 by EC2, which every node is told a moment after its join."""
    found = expected(InstanceType(A10G.kind), of_table(A10G), {}, POLICY, NOW)
    assert (found.mib, found.source) == (22888 - 1145, Source.BUILTIN)
    assert "EC2 is known to say 22888 MiB" in found.why


def test_a_learned_figure_is_promised_since_a_fresh_node_shows_it_at_once() -> None:
    found = expected(InstanceType(T4.kind), TypeFacts(None, T4.builtin(), T4.learned()), {}, POLICY, NOW)
    assert (found.mib, found.source) == (15360 - 450, Source.LEARNED)


def test_where_probed_nodes_have_less_no_more_than_that_is_promised() -> None:
    """An old driver keeps more to itself and teaches nothing: pods that fit the promise would start node after node."""
    found = expected(InstanceType(T4.kind), replace(of_table(T4), seen_mib=14353), {}, POLICY, NOW)
    assert found.mib == 14353
    assert "a probed node of the type has 14353 MiB" in found.why
    assert mib(T4, replace(of_table(T4), seen_mib=14910)) == 14592


def test_policies_count_as_on_a_node() -> None:
    assert mib(T4_FOUR, of_table(T4_FOUR)) is None
    assert mib(T4_FOUR, of_table(T4_FOUR), SUM) == 4 * 14592
    assert mib(T4_FOUR, of_table(T4_FOUR), LARGEST) is None
    assert mib(T4, of_table(T4), CapacityPolicy(margin_mib=100)) == 14592 - 100
    override = CapacityPolicy(overrides={InstanceType(T4.kind): Override(mib_per_gpu=15079)})
    assert mib(T4, of_table(T4), override) == 15079
    assert mib(T4, of_table(T4), CapacityPolicy(multi_gpu=MultiGpu.SKIP, probe=False)) == 14592


def test_a_slice_of_a_gpu_is_known_as_such() -> None:
    found = expected(InstanceType(L4_SLICE.kind), of_table(L4_SLICE), {}, POLICY, NOW)
    assert (found.gpus, found.fractional, found.mib) == (1, True, 2349)
    assert not expected(InstanceType(L4_FOUR.kind), of_table(L4_FOUR), {}, SUM, NOW).fractional


def test_templates_that_take_the_gpus_from_pods_promise_none() -> None:
    mig = expected(InstanceType(T4.kind), of_table(T4), {names.MIG_CONFIG: "all-1g.5gb"}, POLICY, NOW)
    assert (mig.mib, mig.verdict.reason) == (None, Reason.MIG)
    assert "nvidia.com/mig.config=all-1g.5gb" in mig.why
    vms = expected(InstanceType(T4.kind), of_table(T4), {names.OPERATOR_WORKLOAD: "vm-passthrough"}, POLICY, NOW)
    assert (vms.mib, vms.verdict.reason) == (None, Reason.VM_WORKLOAD)
    switched_off = {names.MIG_CONFIG: "all-disabled"}
    assert expected(InstanceType(T4.kind), of_table(T4), switched_off, POLICY, NOW).mib == 14592


@pytest.mark.parametrize(
    "facts",
    [
        TypeFacts(),
        TypeFacts(SpecUnknown(InstanceType("g9.xlarge"), "nobody knows")),
        TypeFacts(NoGpu(InstanceType("m5.large"))),
        TypeFacts(builtin=builtin().answer(InstanceType("g4ad.xlarge"))),
    ],
)
def test_of_what_is_unknown_or_no_gpu_of_nvidias_nothing_is_promised(facts: TypeFacts) -> None:
    found = expected(InstanceType("g9.xlarge"), facts, {}, POLICY, NOW)
    assert (found.mib, found.verdict.count) == (None, 0)


def probed(name: str, mib: int = 14910) -> NodeView:
    condition = Condition(names.CONDITION, "True", Reason.VERIFIED.value, "", NOW)
    record = replace(VERIFIED, advertised_mib=mib)
    return node(annotation=record, condition=condition, key=NodeKey(NodeName(name), name))


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, True),
        ({"record": None}, False),
        ({"record": CapacityRecord(POLICY.resource, 14592, Source.BUILTIN)}, False),
        ({"record": replace(VERIFIED, resource="veriff.com/gpu-memory")}, False),
        ({"condition": None}, False),
        ({"condition": Condition(names.CONDITION, "True", Reason.GPU_LOST.value, "", NOW)}, False),
        ({"condition": Condition(names.CONDITION, "False", Reason.CONTESTED.value, "", NOW)}, False),
        ({"condition": Condition(names.CONDITION, "True", Reason.MISMATCH.value, "", NOW)}, True),
    ],
)
def test_only_healthy_probed_nodes_lower_a_promise(change: dict[str, object], counts: bool) -> None:
    """One lost GPU, or one hand that writes another value, says nothing of the type."""
    changed = replace(probed("a"), **change)  # type: ignore[arg-type]  # as in fake_node
    assert (proven_mib(changed, POLICY.resource) is not None) is counts


def test_the_least_of_all_nodes_of_a_type_counts() -> None:
    nodes = [probed("a"), probed("b", 14353), replace(probed("c", 22000), instance_type=InstanceType("g5.xlarge"))]
    assert least_seen(nodes, POLICY.resource) == {"g4dn.xlarge": 14353, "g5.xlarge": 22000}
