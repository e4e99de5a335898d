"""decide/overlays.py: which overlays should stand."""

from dataclasses import replace

import pytest

from reconciler.model import names
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import InstanceType
from reconciler.model.overlay import (
    OverlayReason,
    Subject,
    Wanted,
    WriteOverlay,
)
from reconciler.model.policy import CapacityPolicy, MultiGpu, SlicingPolicy, SlicingRule
from reconciler.model.quantity import MIB
from reconciler.model.sharing import PluginConfig, Profile, Replicas
from tests.decide.fake_node import NOW
from tests.decide.paper_overlays import (
    CATEGORY,
    FAMILY,
    GPU,
    MEMORY,
    SLICES,
    applied,
    facts,
    gpus_of,
    memory_of,
    need,
    plan,
    pool,
    reasons,
    said,
    sentence,
    table,
    types,
)

SMALL = types("g4dn.xlarge", "g4dn.2xlarge", "g5.xlarge")
T4 = {MEMORY: 14592 * MIB}
SHARED = names.GPU_SHARED_RESOURCE
SLICED_DEV = SlicingPolicy(rules=(SlicingRule(Replicas(4), node_pools=frozenset({"dev"})),))


def test_types_of_equal_memory_share_an_overlay_that_names_no_nodepool() -> None:
    what = plan(facts(pool("dev", SMALL)))
    assert what.wanted == (
        Wanted(
            "gpu-reconciler-memory-14592mi",
            Subject.MEMORY,
            (InstanceType("g4dn.2xlarge"), InstanceType("g4dn.xlarge")),
            {MEMORY: 14592 * MIB},
            10,
        ),
        Wanted(
            "gpu-reconciler-memory-21743mi", Subject.MEMORY, (InstanceType("g5.xlarge"),), {MEMORY: 21743 * MIB}, 10
        ),
    )
    assert what.wanted[0].requirements == (types("g4dn.2xlarge", "g4dn.xlarge"),)
    assert what.actions == tuple(WriteOverlay(one) for one in what.wanted)
    assert (what.findings, what.revisit) == ((), None)


def test_only_types_that_some_nodepool_may_launch_are_told() -> None:
    what = plan(facts(pool("a", types("g4dn.xlarge")), pool("b", need(FAMILY, "In", "g6f"), need(CATEGORY, "Exists"))))
    kinds = {kind for one in what.wanted for kind in one.types}
    assert kinds == {"g4dn.xlarge", "g6f.large", "g6f.xlarge", "g6f.2xlarge", "g6f.4xlarge"}


def test_a_nodepool_that_is_going_or_auto_modes_gets_nothing() -> None:
    going = replace(pool("dev", SMALL), deleting=True)
    auto = replace(pool("auto", SMALL), node_class_group="eks.amazonaws.com")
    what = plan(facts(going, auto))
    assert what.wanted == ()
    assert reasons(what) == [OverlayReason.AUTO_MODE]


def test_more_than_a_hundred_types_of_one_value_make_two_overlays() -> None:
    known = table("g4dn.xlarge")[InstanceType("g4dn.xlarge")]
    many = {}
    for number in range(150):
        kind = InstanceType(f"g4dn.{number}xlarge")
        figure = LearnedFigure(kind, "Tesla T4", 1, 15360, 450, "580", NOW)
        many[kind] = replace(known, learned=figure)
    what = plan(facts(pool(), kinds=many))
    assert [(one.name, len(one.types)) for one in what.wanted] == [
        ("gpu-reconciler-memory-14910mi", 100),
        ("gpu-reconciler-memory2-14910mi", 50),
    ]


def test_what_a_probe_taught_moves_a_type_to_another_overlay_with_no_moment_of_two() -> None:
    known = table("g4dn.xlarge", "g4dn.2xlarge")
    before = facts(pool(), kinds=known)
    standing = applied((), plan(before).actions)
    kind = InstanceType("g4dn.xlarge")
    learned = LearnedFigure(kind, "Tesla T4", 1, 15360, 450, "580", NOW)
    after = facts(pool(), overlays=standing, kinds={**known, kind: replace(known[kind], learned=learned)})

    what = plan(after)

    assert said(what) == {
        "gpu-reconciler-memory-14592mi": {MEMORY: 14592},
        "gpu-reconciler-memory-14910mi": {MEMORY: 14910},
    }
    shrinks, makes = what.actions
    assert isinstance(shrinks, WriteOverlay)
    assert (shrinks.over, shrinks.overlay.types) == (standing[0], ("g4dn.2xlarge",))
    assert isinstance(makes, WriteOverlay)
    assert makes.over is None


@pytest.mark.parametrize("multi_gpu", [MultiGpu.SKIP, MultiGpu.LARGEST])
def test_several_gpus_are_told_as_the_policy_has_it(multi_gpu: MultiGpu) -> None:
    several = pool("dev", types("g4dn.12xlarge", "g5.12xlarge"))
    assert memory_of(plan(facts(several), memory=CapacityPolicy(multi_gpu=MultiGpu.SUM)), "g4dn.12xlarge") == 58368
    nothing = plan(facts(several), memory=CapacityPolicy(multi_gpu=multi_gpu))
    assert nothing.wanted == ()
    assert "no overlay tells of the memory of g4dn.12xlarge, g5.12xlarge (MultiGPU)" in sentence(
        nothing, OverlayReason.NOTHING_KNOWN
    )


def test_a_nodepool_of_mig_devices_is_left_out_and_the_others_named() -> None:
    mig = pool("mig", SMALL, labels={names.MIG_CONFIG: "all-1g.5gb"})
    what = plan(facts(pool("dev", SMALL), mig))
    assert (memory_of(what, "g5.xlarge"), memory_of(what, "g5.xlarge", "mig")) == (21743, None)
    assert {one.name: one.pool for one in what.wanted} == {
        "gpu-reconciler-memory-14592mi-in-dev": "dev",
        "gpu-reconciler-memory-21743mi-in-dev": "dev",
    }
    assert what.wanted[0].requirements[1] == need("karpenter.sh/nodepool", "In", "dev")
    assert "NodePool mig" in sentence(what, OverlayReason.NO_MEMORY)


def test_a_requirement_that_cannot_be_judged_is_said_once_for_each_nodepool() -> None:
    what = plan(facts(pool("dev", SMALL, need("karpenter.k8s.aws/instance-cpu", "Lt", "9"))))
    assert memory_of(what, "g4dn.xlarge") == 14592
    assert sentence(what, OverlayReason.LENIENT).startswith("NodePool dev asks for karpenter.k8s.aws/instance-cpu,")


def test_the_resource_may_have_another_name() -> None:
    (one, _) = plan(facts(pool("dev", SMALL)), memory=CapacityPolicy(resource="veriff.com/gpu-memory")).wanted
    assert one.capacity == {"veriff.com/gpu-memory": 14592 * MIB}


def test_slices_are_told_for_the_nodepools_of_their_rule_alone() -> None:
    here = facts(pool("dev", SMALL), pool("prod", SMALL))
    assert gpus_of(plan(here, slicing=SLICED_DEV), "g5.xlarge") is None
    what = plan(here, SLICES, slicing=SLICED_DEV)
    (sliced,) = [one for one in what.wanted if one.subject is Subject.GPUS]
    assert (sliced.name, sliced.capacity, len(sliced.types)) == ("gpu-reconciler-gpus-4-in-dev", {GPU: 4}, 3)
    assert gpus_of(what, "g5.xlarge", "prod") is None
    assert memory_of(what, "g5.xlarge", "prod") == 21743


def test_the_gpu_that_ec2_counts_as_none_is_told() -> None:
    what = plan(facts(pool("dev", types("g6f.large", "g6.xlarge"))), SLICES)
    assert (gpus_of(what, "g6f.large"), gpus_of(what, "g6.xlarge")) == (1, None)


def test_renamed_slices_take_the_other_name_away() -> None:
    renamed = PluginConfig({"ts-4": Profile(4, renamed=True)})
    what = plan(facts(pool("dev", SMALL), plugin=renamed), SLICES, slicing=SLICED_DEV)
    assert said(what)["gpu-reconciler-gpus-shared-4-in-dev"] == {GPU: 0, SHARED: 4}


def test_slices_that_cannot_be_counted_are_said_and_not_told() -> None:
    what = plan(facts(pool("dev", SMALL), plugin=None), SLICES, slicing=SLICED_DEV)
    assert gpus_of(what, "g5.xlarge") is None
    assert "there is no ConfigMap nvidia-device-plugin/gpu-profiles" in sentence(what, OverlayReason.SLICES_UNKNOWN)


def test_a_very_long_nodepool_name_still_makes_a_name_that_the_server_takes() -> None:
    name = "a" * 250
    policy = SlicingPolicy(rules=(SlicingRule(Replicas(4)),))
    what = plan(facts(pool(name, SMALL)), SLICES, slicing=policy)
    assert gpus_of(what, "g5.xlarge", name) == 4
    assert max(len(one.name) for one in what.wanted) <= 253
