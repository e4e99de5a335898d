"""Any facts of sharing and any policy that the doors and the settings can make, for property tests."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st

from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.verdict import Verdict
from reconciler.model import fence, names
from reconciler.model.node import CapacityType, Condition, InstanceType, NodeKey, NodeName, NodeView, Taint
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import Later, SlicingPolicy, SlicingRule
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing import (
    Contender,
    Exclusive,
    MemoryPerSlice,
    Named,
    PluginConfig,
    Profile,
    Replicas,
    UnusableProfile,
)
from reconciler.model.sharing_record import SharingRecord, parse
from reconciler.model.workload import PodRef
from tests.decide.any_facts import texts
from tests.decide.fake_node import NOW

GPU, SHARED = names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE
KEYS = ["exclusive", "ts-2", "ts-3", "ts-4", "any"]

V = TypeVar("V")


def often(most: st.SearchStrategy[V], rest: st.SearchStrategy[V]) -> st.SearchStrategy[V]:
    """Three of four times the one, else the other."""
    return st.sampled_from([True, True, True, False]).flatmap(lambda first: most if first else rest)


SECONDS = (-7200, -601, -600, -180, -100, -15, -14, -1, 0, 1, 30, 900)
NEAR = [NOW + timedelta(seconds=seconds) for seconds in SECONDS]
LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
moments = st.sampled_from([*NEAR, LATEST, datetime(1, 1, 1, tzinfo=UTC)])
keys = st.sampled_from([*KEYS, "theirs"])
wishes = (
    st.builds(Exclusive)
    | st.builds(Replicas, st.integers(2, 4))
    | st.builds(MemoryPerSlice, st.sampled_from([1, 1024, 4096, 8192, 2**20]), st.sampled_from([2, 4, 16]))
    | st.builds(Named, keys)
)
selectors = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.just({"team": "vision"}),
        "instance_types": st.just(frozenset({InstanceType("g4dn.xlarge")})),
        "gpu_models": st.just(frozenset({"T4"})),
        "capacity_types": st.just(frozenset({CapacityType.SPOT})),
    },
)
names_of_rules = st.sampled_from(["", "dev"])
rules = st.builds(lambda wanted, name, more: SlicingRule(wanted, name, **more), wishes, names_of_rules, selectors)
catch_all = st.builds(lambda wanted: (SlicingRule(wanted),), wishes)
spans = st.sampled_from([timedelta(seconds=10), timedelta(minutes=3), timedelta(minutes=30)])
policies = st.builds(
    SlicingPolicy,
    rules=often(catch_all, st.lists(rules, max_size=3).map(tuple)),
    gpu_resource=st.sampled_from([GPU, GPU, SHARED, "example.com/gpu"]),
    later=st.sampled_from(list(Later)),
    fence_for=spans,
    mounted_after=spans,
    follow_within=spans,
    contest_limit=st.integers(1, 3),
    contest_window=st.just(timedelta(minutes=10)),
    restart_plugin=st.booleans(),
    most_restarts=st.integers(1, 2),
    remove_stale=st.booleans(),
)

verdicts = st.builds(
    Verdict,
    reason=st.sampled_from([*[Reason.VERIFIED] * len(Reason), *Reason]),
    because=st.just("a sentence of the memory's"),
    mib=st.none() | st.sampled_from([1, 3000, 14910, 4 * 14910]),
    labels=st.sampled_from(
        [
            {},
            {names.LABEL_MEMORY_MIB: "15360", names.LABEL_COUNT: "1", names.LABEL_SOURCE: "nvml"},
            {names.LABEL_MEMORY_MIB: "15360", names.LABEL_COUNT: "4", names.LABEL_SOURCE: "ec2"},
        ]
    ),
    model=st.sampled_from(["T4", "T4", "L4", ""]),
    count=st.sampled_from([1, 1, 4, 0]),
)
profiles = st.builds(Profile, st.integers(1, 4), st.booleans(), st.sampled_from([False, False, True])) | st.builds(
    UnusableProfile, texts
)
shipped = {"exclusive": Profile(), "ts-2": Profile(2), "ts-3": Profile(3), "ts-4": Profile(4), "any": Profile(4)}
whole_configs = st.builds(PluginConfig, st.just(shipped), st.none() | moments)
odd_configs = st.none() | st.builds(PluginConfig, st.dictionaries(keys, profiles, max_size=4), st.none() | moments)
configs = often(whole_configs, odd_configs)
pods = st.builds(
    PluginPod,
    st.builds(PodRef, st.just("nvdp"), st.sampled_from(["nvdp-1", "nvdp-2"]), st.sampled_from(["u1", "u2"])),
    st.just(NodeName("ip-10-0-0-1")),
    started=st.none() | moments,
    ready=st.booleans(),
    ready_since=st.none() | moments,
    config_manager=st.sampled_from([True, True, False]),
    manager_failing=st.sampled_from(["", "", "CrashLoopBackOff"]) | texts,
    manager_again=st.none() | moments,
    plugin_failing=st.sampled_from(["", "", "CrashLoopBackOff"]) | texts,
    plugin_again=st.none() | moments,
)
amounts = st.fixed_dictionaries(
    {"cpu": st.just(4000)},
    optional={
        GPU: st.integers(0, 4) | st.just(16),
        SHARED: st.sampled_from([0, 0, 0, 4]),
        "example.com/gpu": st.sampled_from([0, 4]),
    },
)
LABELS = {
    names.PLUGIN_CONFIG: [*KEYS, "theirs"],
    names.MIG_CONFIG_STATE: ["success", "success", "pending"],
    names.OPERATOR_DEPLOY + "device-plugin": ["true", "true", "paused-for-mig-change"],
    names.OPERATOR_WORKLOAD: ["container", "container", "vm-vgpu"],
    names.GFD_PRODUCT: ["Tesla-T4", "Tesla-T4", "A100-MIG-INVALID"],
    names.KARPENTER_CAPACITY_TYPE: ["spot"],
    "team": ["vision"],
}
labels = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in LABELS.items()})
STARTUP = Taint(names.STARTUP_TAINT, "NoSchedule")
OTHER = Taint("special", "NoExecute", "gpu", "2026-01-01T00:00:00Z")
DISRUPTED = Taint(names.KARPENTER_DISRUPTED_TAINT, "NoSchedule")
FENCES = [
    *(fence.taint(fence.SLICING, until) for until in (*NEAR, LATEST)),
    Taint(names.FENCE_TAINT, "NoSchedule", "slicing-soon"),
    Taint(names.FENCE_TAINT, "NoSchedule", "rebalance-20261130T123000Z"),
    Taint(names.FENCE_TAINT, "NoSchedule"),
]
taints = st.sampled_from(
    [(), (), (STARTUP,), (STARTUP,), (OTHER,), *((OTHER, one) for one in FENCES), (STARTUP, FENCES[-3])]
)
records = (
    st.none()
    | st.builds(UnreadableRecord, texts)
    | st.builds(
        SharingRecord,
        st.none() | keys,
        st.none() | moments,
        st.none() | st.builds(Contender, st.sampled_from(["", "kubectl"]), st.integers(0, 4), moments),
        st.integers(0, 2),
        st.none() | moments,
    ).map(lambda record: parse(record.to_json()))
)
conditions = st.none() | st.builds(
    Condition,
    st.just(names.SHARING_CONDITION),
    st.sampled_from(["True", "False", "Unknown"]),
    st.sampled_from(list(SharingReason)).map(str) | texts,
    texts,
    moments,
)
plain_labels = st.fixed_dictionaries({}, optional={names.PLUGIN_CONFIG: keys})
ripe_nodes = st.builds(
    NodeView,
    key=st.just(NodeKey(NodeName("ip-10-0-0-1"), "uid-1")),
    instance_type=st.just(InstanceType("g4dn.xlarge")),
    boot_id=st.just("boot-1"),
    ready=st.booleans(),
    created=st.just(NOW),
    labels=plain_labels,
    taints=taints,
    capacity=amounts,
    allocatable=amounts,
    sharing_condition=conditions,
    sharing_record=records,
    profile_writer=st.sampled_from(["", "", "kubectl-edit", "gpu-reconciler"]),
    resource_version=st.just("7"),
)
wild_nodes = st.builds(
    NodeView,
    key=st.just(NodeKey(NodeName("ip-10-0-0-1"), "uid-1")),
    instance_type=st.sampled_from([InstanceType("g4dn.xlarge"), InstanceType("g5.xlarge"), None]),
    boot_id=st.just("boot-1"),
    ready=st.booleans(),
    created=st.just(NOW),
    labels=labels,
    taints=often(taints, st.just((DISRUPTED,))),
    capacity=amounts,
    allocatable=amounts,
    sharing_condition=conditions,
    sharing_record=records,
    profile_writer=st.sampled_from(["", "", "kubectl-edit", "gpu-reconciler"]),
    os_image=st.sampled_from(["Amazon Linux 2023", "Amazon Linux 2023", "Bottlerocket OS 1.40.0"]),
    deleting=st.sampled_from([False] * 9 + [True]),
    resource_version=st.just("7"),
)
ripe = st.builds(
    SharingFacts,
    node=ripe_nodes,
    memory=st.just(Verdict(Reason.VERIFIED, "a sentence", mib=14910, model="T4", count=1)),
    settled=st.just(True),
    plugin=whole_configs,
    pods=st.lists(pods, max_size=2).map(tuple),
    held=st.sampled_from([0, 0, 0, 1]),
    pool_label=st.sampled_from(["", "", "theirs", "ts-2"]),
)
"""A node with a rule, a profile for it, and nobody else who has a say but over the label."""

wild = st.builds(
    SharingFacts,
    node=wild_nodes,
    memory=verdicts,
    settled=st.sampled_from([True, True, False]),
    plugin=configs,
    pods=st.lists(pods, max_size=2).map(tuple),
    held=st.sampled_from([0, 0, 0, 1]),
    pool_label=st.sampled_from(["", "", "theirs", "ts-2"]),
)
facts = often(ripe, wild)
