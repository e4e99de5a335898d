"""decide/overlays.py: what holds for any NodePools, any overlays of others and any policy."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.decide import capacity
from reconciler.decide.expected import TypeFacts, fresh
from reconciler.decide.overlays import OverlayFacts, decide
from reconciler.model import names
from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.overlay import OverlayPolicy, OverlayView, RemoveOverlay, Subject
from reconciler.model.policy import CapacityPolicy, MultiGpu, SlicingPolicy, SlicingRule
from reconciler.model.quantity import MIB
from reconciler.model.sharing import Exclusive, MemoryPerSlice, Replicas
from tests.decide.fake_node import NOW, facts_of
from tests.decide.figures import ALL, Gpu
from tests.decide.paper_overlays import GPU, MEMORY, PLUGIN, applied, overlay

quick = settings(max_examples=100, deadline=None)

KINDS = [InstanceType(gpu.kind) for gpu in ALL]
BY_KIND: dict[str, Gpu] = {gpu.kind: gpu for gpu in ALL}
POOLS = ["dev", "prod", "x"]

requirements = st.builds(
    Requirement,
    st.sampled_from(
        [
            names.LABEL_INSTANCE_TYPE,
            names.KARPENTER_NODEPOOL,
            names.KARPENTER_CAPACITY_TYPE,
            "karpenter.k8s.aws/instance-family",
            "karpenter.k8s.aws/instance-gpu-count",
            "karpenter.k8s.aws/instance-cpu",
            "team",
        ]
    ),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lte", "Odd"]),
    st.lists(st.sampled_from([*KINDS, *POOLS, "g5", "g6", "1", "4", "spot", "a"]), max_size=4).map(tuple),
)
labels = st.dictionaries(
    st.sampled_from(["team", names.PLUGIN_CONFIG, names.MIG_CONFIG]), st.sampled_from(["a", "ts-2", "all-disabled"])
)
pools = st.lists(
    st.builds(
        NodePoolView,
        st.sampled_from(POOLS),
        st.lists(requirements, max_size=2).map(tuple),
        labels,
        st.sampled_from(["karpenter.k8s.aws", "eks.amazonaws.com"]),
        st.booleans(),
    ),
    max_size=3,
    unique_by=lambda pool: pool.name,
)
amounts = st.dictionaries(st.sampled_from([MEMORY, GPU, "other"]), st.integers(0, 10**12), max_size=2)
weights = st.sampled_from([0, 9, 10, 11])


@st.composite
def strangers(draw: st.DrawFn) -> OverlayView:
    name = draw(st.sampled_from(["a", "gpu-reconciler-memory-14592mi", "z"]))
    needs = draw(st.lists(requirements, max_size=2))
    return overlay(name, draw(amounts), *needs, weight=draw(weights), validated=draw(st.sampled_from([True, None])))


@st.composite
def left_behind(draw: st.DrawFn) -> OverlayView:
    name = draw(st.sampled_from(["gpu-reconciler-memory-21743mi", "gpu-reconciler-memory-1mi", "gpu-reconciler-x"]))
    needs = draw(st.lists(requirements, max_size=2))
    subject = draw(st.sampled_from(Subject))
    return overlay(name, draw(amounts), *needs, weight=draw(weights), subject=subject)


overlays = st.lists(strangers() | left_behind(), max_size=4, unique_by=lambda one: one.name).map(tuple)


@st.composite
def types(draw: st.DrawFn) -> dict[InstanceType, TypeFacts]:
    chosen = draw(st.lists(st.sampled_from(ALL), unique_by=lambda gpu: gpu.kind))
    return {
        InstanceType(gpu.kind): TypeFacts(
            gpu.spec() if draw(st.booleans()) else None,
            gpu.builtin(),
            gpu.learned() if draw(st.booleans()) else None,
            draw(st.sampled_from([None, 1000, 14353, 10**6])),
        )
        for gpu in chosen
    }


facts = st.builds(OverlayFacts, pools.map(tuple), overlays, types(), st.sampled_from([PLUGIN, None]))
memory_policies = st.builds(
    CapacityPolicy, multi_gpu=st.sampled_from(MultiGpu), margin_mib=st.sampled_from([0, 100]), probe=st.booleans()
)
rules = st.builds(
    SlicingRule,
    st.sampled_from([Exclusive(), Replicas(4), MemoryPerSlice(4096)]),
    node_pools=st.sets(st.sampled_from(POOLS), max_size=2).map(frozenset),
    capacity_types=st.sets(st.sampled_from(CapacityType), max_size=2).map(frozenset),
)
slicing_policies = st.builds(SlicingPolicy, st.lists(rules, max_size=3).map(tuple))
policies = st.builds(OverlayPolicy, slices=st.booleans())


@quick
@given(facts, memory_policies, slicing_policies, policies)
def test_a_still_cluster_comes_to_rest_in_one_pass(
    known: OverlayFacts, memory: CapacityPolicy, slicing: SlicingPolicy, policy: OverlayPolicy
) -> None:
    """I5: and what is written is what was wanted, since an overlay that differs would be written again."""
    first = decide(known, memory, slicing, policy, NOW)
    after = replace(known, overlays=applied(known.overlays, first.actions))
    second = decide(after, memory, slicing, policy, NOW + timedelta(days=1))
    assert second.actions == ()
    assert second.wanted == first.wanted
    assert decide(known, memory, slicing, policy, NOW) == first


@quick
@given(facts, memory_policies, slicing_policies, policies)
def test_only_ours_are_touched_and_no_two_of_them_ever_meet(
    known: OverlayFacts, memory: CapacityPolicy, slicing: SlicingPolicy, policy: OverlayPolicy
) -> None:
    """Neither when all is done nor after any single write on the way."""
    plan = decide(known, memory, slicing, policy, NOW)
    strangers_names = {one.name for one in known.overlays if one.subject is None}
    touched = {one.name if isinstance(one, RemoveOverlay) else one.overlay.name for one in plan.actions}
    assert touched.isdisjoint(strangers_names)
    places = [
        (resource, kind, pool)
        for one in plan.wanted
        for resource in one.capacity
        for kind in one.types
        for pool in ([one.pool] if one.pool else POOLS)
    ]
    assert len(places) == len(set(places))
    assert all(one.types and one.capacity for one in plan.wanted)
    assert len({one.name for one in plan.wanted}) == len(plan.wanted)


@quick
@given(facts, memory_policies, slicing_policies, policies)
def test_no_overlay_tells_more_memory_than_a_joining_node_shows(
    known: OverlayFacts, memory: CapacityPolicy, slicing: SlicingPolicy, policy: OverlayPolicy
) -> None:
    """Before EC2 has answered, after it, and once the probe has: with what was known when the overlay was written."""
    for one in decide(known, memory, slicing, policy, NOW).wanted:
        for kind in one.types if one.subject is Subject.MEMORY else ():
            gpu, there = BY_KIND[kind], known.types[kind]
            least = one.capacity[MEMORY] // MIB
            assert there.seen_mib is None or least <= there.seen_mib
            joining = facts_of(fresh(kind, {}, NOW), builtin=gpu.builtin(), learned=there.learned)
            for view in (joining, replace(joining, spec=gpu.spec(), probe=gpu.probed())):
                shown = capacity.decide(view, memory, NOW).verdict.mib
                assert shown is not None
                assert least <= shown
