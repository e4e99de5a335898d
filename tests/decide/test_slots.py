"""decide/slots.py: how many GPUs and slices a NodePool's next node will offer, and never more."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from reconciler.decide import type_labels
from reconciler.decide.expected import TypeFacts, expected
from reconciler.decide.slots import SlotFacts, slots
from reconciler.model import names
from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.node_pool import NodePoolView
from reconciler.model.policy import CapacityPolicy, SlicingPolicy, SlicingRule
from reconciler.model.sharing import (
    Exclusive,
    MemoryPerSlice,
    Named,
    PluginConfig,
    Profile,
    Replicas,
    UnusableProfile,
    Wanted,
)
from tests.decide.fake_node import NOW
from tests.decide.paper_overlays import GPU, PLUGIN, need, pool, table
from tests.decide.situation import LARGEST, SUM

BOUGHT = names.KARPENTER_CAPACITY_TYPE
SHARED = names.GPU_SHARED_RESOURCE
FOUR = Replicas(4)


def rules(*given: SlicingRule) -> SlicingPolicy:
    return SlicingPolicy(rules=given)


def counted(
    policy: SlicingPolicy,
    kind: str = "g4dn.xlarge",
    where: NodePoolView | None = None,
    plugin: PluginConfig | None = PLUGIN,
    memory: CapacityPolicy | None = None,
    refusals: Mapping[str, str] | None = None,
) -> Mapping[str, int] | str:
    """The amounts, or why they cannot be told."""
    known, name = table(kind)[InstanceType(kind)], InstanceType(kind)
    what = expected(name, known, {}, memory or CapacityPolicy(), NOW)
    place = where or pool()
    found = slots(SlotFacts(place, name, what, type_labels.of(name, known.specs), plugin, refusals or {}), policy, NOW)
    return found.why if found.amounts is None else dict(found.amounts)


@pytest.mark.parametrize(
    ("wanted", "kind", "amount"),
    [
        (Exclusive(), "g4dn.xlarge", 1),
        (Exclusive(), "g4dn.12xlarge", 4),
        (FOUR, "g4dn.xlarge", 4),
        (FOUR, "g4dn.12xlarge", 16),
        (FOUR, "g6f.large", 4),
        (Named("ts-3"), "g4dn.xlarge", 3),
        (MemoryPerSlice(4096), "g4dn.xlarge", 3),  # 14592 MiB before any probe, 14910 after
        (MemoryPerSlice(4096, most=2), "g4dn.xlarge", 2),
        (MemoryPerSlice(8192), "g4dn.xlarge", 1),
        (MemoryPerSlice(100), "g4dn.xlarge", 16),
    ],
)
def test_the_rule_decides(wanted: Wanted, kind: str, amount: int) -> None:
    assert counted(rules(SlicingRule(wanted)), kind) == {GPU: amount}


def test_without_a_rule_there_are_the_gpus_and_of_an_unknown_type_nothing_is_told() -> None:
    assert counted(SlicingPolicy()) == {GPU: 1}
    assert counted(SlicingPolicy(), "g5.48xlarge") == {GPU: 8}
    what = expected(InstanceType("g9.xlarge"), TypeFacts(), {}, CapacityPolicy(), NOW)
    unknown = SlotFacts(pool(), InstanceType("g9.xlarge"), what, {}, PLUGIN)
    assert slots(unknown, rules(SlicingRule(FOUR)), NOW).amounts is None


def test_slices_of_memory_on_several_gpus_follow_what_is_told_of_one() -> None:
    wanted = rules(SlicingRule(MemoryPerSlice(4096)))
    assert counted(wanted, "g4dn.12xlarge", memory=SUM) == {GPU: 12}
    assert counted(wanted, "g4dn.12xlarge", memory=LARGEST) == {GPU: 12}
    why = counted(wanted, "g4dn.12xlarge")
    assert isinstance(why, str)
    assert "(MultiGPU)" in why


@pytest.mark.parametrize(
    ("rule", "where", "amount"),
    [
        (SlicingRule(FOUR, node_pools=frozenset({"dev"})), pool("dev"), 4),
        (SlicingRule(FOUR, node_pools=frozenset({"prod"})), pool("dev"), 1),
        (SlicingRule(FOUR, instance_types=frozenset({InstanceType("g4dn.xlarge")})), pool(), 4),
        (SlicingRule(FOUR, instance_types=frozenset({InstanceType("g5.xlarge")})), pool(), 1),
        (SlicingRule(FOUR, families=frozenset({"g4dn"})), pool(), 4),
        (SlicingRule(FOUR, families=frozenset({"g4"})), pool(), 1),
        (SlicingRule(FOUR, gpu_models=frozenset({"t4"})), pool(), 4),
        (SlicingRule(FOUR, gpu_models=frozenset({"A10G"})), pool(), 1),
        (SlicingRule(FOUR, labels={"team": "a"}), pool(labels={"team": "a"}), 4),
        (SlicingRule(FOUR, labels={"team": "a"}), pool(labels={"team": "b"}), 1),
        (SlicingRule(FOUR, labels={"team": "a"}), pool("dev", need("team", "In", "a")), 4),
        (SlicingRule(FOUR, labels={"team": "a"}), pool("dev", need("team", "In", "b", "c")), 1),
        (SlicingRule(FOUR, labels={"karpenter.sh/nodepool": "dev"}), pool("dev"), 4),
        (SlicingRule(FOUR, labels={"karpenter.k8s.aws/instance-family": "g4dn"}), pool(), 4),
        (SlicingRule(FOUR, labels={"karpenter.k8s.aws/instance-family": "g5"}), pool(), 1),
        (SlicingRule(FOUR, capacity_types=frozenset({CapacityType.SPOT})), pool("dev", need(BOUGHT, "In", "spot")), 4),
        (
            SlicingRule(FOUR, capacity_types=frozenset({CapacityType.SPOT})),
            pool("dev", need(BOUGHT, "In", "on-demand")),
            1,
        ),
    ],
)
def test_a_rule_is_for_the_nodepools_that_it_selects(rule: SlicingRule, where: NodePoolView, amount: int) -> None:
    assert counted(rules(rule), where=where) == {GPU: amount}


@pytest.mark.parametrize(
    "rule",
    [
        SlicingRule(FOUR, capacity_types=frozenset({CapacityType.SPOT})),
        SlicingRule(FOUR, labels={"topology.kubernetes.io/zone": "eu-west-1a"}),
        SlicingRule(FOUR, labels={"somebody/sets-it-later": "yes"}),
    ],
)
def test_what_is_known_only_once_the_node_is_there_counts_at_its_least(rule: SlicingRule) -> None:
    """An overlay is of a type, whichever offering it is bought by: what spot has, on-demand must have as well."""
    assert counted(rules(rule)) == {GPU: 1}
    assert counted(rules(rule, SlicingRule(Replicas(2)))) == {GPU: 2}
    assert counted(rules(rule, SlicingRule(Replicas(8)))) == {GPU: 4}
    label = pool("dev", need("somebody/sets-it-later", "In", "yes", "no"))
    assert counted(rules(rule), where=label) == {GPU: 1}


def test_the_first_rule_that_surely_fits_ends_the_list() -> None:
    assert counted(rules(SlicingRule(Replicas(8)), SlicingRule(Exclusive()))) == {GPU: 8}


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        (None, "there is no ConfigMap nvidia-device-plugin/gpu-profiles"),
        (PluginConfig({"ts-2": Profile(2)}), "has no such key"),
        (PluginConfig({"ts-4": UnusableProfile("version is missing")}), "version is missing"),
        (PluginConfig({"ts-4": Profile(4, mps=True)}), "MPS"),
        (PluginConfig({"ts-4": Profile(2)}), "makes 2 of each GPU"),
    ],
)
def test_a_profile_that_would_not_be_used_promises_nothing(plugin: PluginConfig | None, says: str) -> None:
    why = counted(rules(SlicingRule(FOUR)), plugin=plugin)
    assert isinstance(why, str)
    assert says in why


def test_renamed_slices_take_the_gpus_name_away_from_karpenter() -> None:
    """Karpenter knows nvidia.com/gpu of the type by itself, and the node will have none."""
    renamed = PluginConfig({"ts-4": Profile(4, renamed=True), "exclusive": Profile()})
    assert counted(rules(SlicingRule(FOUR)), plugin=renamed) == {GPU: 0, SHARED: 4}
    perhaps = SlicingRule(FOUR, labels={"later": "yes"})
    assert counted(rules(perhaps), plugin=renamed) == {GPU: 0, SHARED: 0}


def test_the_templates_own_label_beats_every_rule() -> None:
    """The plugin follows the label, whoever set it."""
    labelled = pool(labels={names.PLUGIN_CONFIG: "ts-2"})
    assert counted(rules(SlicingRule(FOUR)), where=labelled) == {GPU: 2}
    assert counted(SlicingPolicy(), where=labelled) == {GPU: 2}
    unknown = counted(SlicingPolicy(), where=pool(labels={names.PLUGIN_CONFIG: "theirs"}))
    assert isinstance(unknown, str)
    assert "has no such key" in unknown


def test_nodes_that_do_not_share_as_the_rule_says_are_evidence() -> None:
    refusals = {"dev": "node a of the NodePool says HostPlugin"}
    assert counted(rules(SlicingRule(FOUR)), refusals=refusals) == refusals["dev"]
    assert counted(SlicingPolicy(), refusals=refusals) == {GPU: 1}
    assert counted(rules(SlicingRule(FOUR)), where=pool("other"), refusals=refusals) == {GPU: 4}


def test_a_gpu_resource_of_another_name_is_told_under_that_name() -> None:
    assert counted(replace(rules(SlicingRule(FOUR)), gpu_resource="example.com/gpu")) == {"example.com/gpu": 4}
