"""decide/second_opinion.py: what others' labels say against ours, and that agreement is silence."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.decide.capacity import CapacityFacts, decide
from reconciler.decide.second_opinion import opinions
from reconciler.model import names
from reconciler.model.gpu import NoGpu, Vendor
from reconciler.model.node import InstanceType
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.model.probe_report import GpuReading, ProbeReason
from reconciler.model.probe_state import ProbeFailed
from reconciler.model.quantity import MIB
from reconciler.model.sharing import Profile
from tests.decide.fake_node import NOW, facts_of, node
from tests.decide.figures import A10G, A100, ALL, H100, L4_SLICE, T4, T4_FOUR, Gpu
from tests.decide.situation import FOUR_LESS_ONE, MIG_GPU, PLAIN, overridden, report, spec

POLICY = CapacityPolicy()
SUM = CapacityPolicy(multi_gpu=MultiGpu.SUM)
TS4 = Profile(replicas=4)
FOUND = facts_of(node(), spec=T4.spec(), probe=T4.probed())
FOUR = facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed())
CPU = facts_of(node("m5.large", capacity=PLAIN), spec=NoGpu(InstanceType("m5.large")))


def gfd(gpu: Gpu, **others: str) -> Mapping[str, str]:
    """What GFD writes of these GPUs, unshared."""
    return {
        names.GFD_MEMORY: str(gpu.nvml_mib),
        names.GFD_COUNT: str(gpu.count),
        names.GFD_PRODUCT: gpu.nvml_name.replace(" ", "-"),
        names.GFD_REPLICAS: "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        **{f"nvidia.com/gpu.{key.replace('_', '-')}": value for key, value in others.items()},
    }


def said(
    facts: CapacityFacts, labels: Mapping[str, str], profile: Profile | None = None, policy: CapacityPolicy = POLICY
) -> tuple[str, ...]:
    view = replace(facts.node, labels={**facts.node.labels, **labels})
    verdict = decide(replace(facts, node=view), policy, NOW).verdict
    return opinions(view, verdict, profile)


@dataclass(frozen=True)
class Row:
    name: str
    labels: Mapping[str, str]
    says: tuple[str, ...] = ()
    """One beginning or part of each sentence."""
    facts: CapacityFacts = FOUND
    profile: Profile | None = None
    policy: CapacityPolicy = field(default=POLICY)


ROWS = [
    # Memory
    Row(
        "a label in MiB that is a little off is told",
        gfd(T4, memory="15109"),
        ("says 15109 MiB for each GPU (nvidia.com/gpu.memory), our probe 15360",),
    ),
    Row("a label in bytes is understood", gfd(T4, memory=str(15360 * MIB))),
    Row("a label in bytes that differs is told in MiB", gfd(T4, memory=str(15109 * MIB)), ("says 15109 MiB",)),
    Row("what rounding may do is no difference", gfd(T4, memory="15361")),
    Row("a label without number is told", gfd(T4, memory="lots"), ("says 'lots' as the memory",)),
    Row("no label is no opinion", {}),
    Row(
        "EC2's nominal figure may differ by some percent until a probe has answered",
        gfd(T4),
        facts=facts_of(node(), spec=T4.spec(table=False)),
    ),
    Row(
        "a figure of EC2's that is far from NVML's is told",
        gfd(A10G, memory="11444"),
        ("says 11444 MiB for each GPU (nvidia.com/gpu.memory), our figure (ec2) 22888",),
        facts=facts_of(node("g5.xlarge"), spec=A10G.spec()),
    ),
    Row(
        "a figure of ours that promises more than GFD reads is told, however little",
        gfd(T4, memory="15109"),
        ("says 15109 MiB for each GPU (nvidia.com/gpu.memory), our figure (builtin) 15360",),
        facts=facts_of(node(), spec=T4.spec()),
    ),
    Row(
        "what siblings taught is compared as exactly as a probe",
        gfd(T4, memory="15109"),
        ("our figure (learned) 15360",),
        facts=facts_of(node(), spec=T4.spec(), learned=T4.learned()),
    ),
    Row(
        "a person's figure is compared with nothing",
        gfd(T4),
        facts=facts_of(node(), spec=T4.spec()),
        policy=overridden(9000),
    ),
    Row(
        "a GPU that our probe cannot read and GFD could is told",
        gfd(T4),
        ("once read 15360 MiB for each GPU (nvidia.com/gpu.memory), our probe nothing",),
        facts=facts_of(node(), spec=T4.spec(), probe=ProbeFailed(ProbeReason.DRIVER_NOT_LOADED, "", NOW)),
    ),
    # Number and product
    Row(
        "several GPUs of which nothing is advertised are counted",
        gfd(T4_FOUR, count="3"),
        ("counts 3 GPUs (nvidia.com/gpu.count), we 4",),
        facts=FOUR,
    ),
    Row("slots are not GPUs", gfd(T4_FOUR, replicas="4"), facts=FOUR),
    Row(
        "a lost GPU is lost to both",
        gfd(T4_FOUR, count="3"),
        facts=facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=report(*FOUR_LESS_ONE)),
        policy=SUM,
    ),
    Row(
        "another product is told",
        gfd(A10G, memory="15360"),
        ("names the GPU NVIDIA-A10G (nvidia.com/gpu.product), we T4",),
    ),
    Row("a shared product is the same product", gfd(T4, product="Tesla-T4-SHARED")),
    Row(
        "NVML's longer name is the same GPU",
        gfd(A100),
        facts=facts_of(node("p4d.24xlarge"), spec=A100.spec(), probe=A100.probed()),
    ),
    Row(
        "EC2's words in another order are the same GPU",
        gfd(H100, product="NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", memory="97887"),
        facts=facts_of(node("g7e.2xlarge"), spec=replace(spec(Vendor.NVIDIA, "RTX PRO Server 6000"), ec2_mib=97887)),
    ),
    Row(
        "a part of a GPU is the same GPU",
        gfd(L4_SLICE),
        facts=facts_of(node("g6f.large"), spec=L4_SLICE.spec(), probe=L4_SLICE.probed()),
    ),
    Row(
        "MIG devices that we did not see are told",
        gfd(T4, product="A100-SXM4-40GB-MIG-1g.5gb-SHARED"),
        ("sees MIG devices (nvidia.com/gpu.product=A100-SXM4-40GB-MIG-1g.5gb-SHARED), we saw none",),
    ),
    Row(
        "of a MIG node GFD's labels are about its devices, so nothing is compared",
        gfd(T4, memory="4864", count="7"),
        facts=facts_of(node(), spec=T4.spec(), probe=report(MIG_GPU)),
    ),
    # Sharing
    Row(
        "the profile's count is confirmed",
        gfd(T4, replicas="4", sharing_strategy="time-slicing", product="Tesla-T4-SHARED"),
        profile=TS4,
    ),
    Row(
        "GFD without the plugin's ConfigMap shows every GPU once",
        gfd(T4),
        (
            "gives each GPU 1 slot (nvidia.com/gpu.replicas), the profile 4; it may run without the plugin's ConfigMap",
            "shared by none",
        ),
        profile=TS4,
    ),
    Row(
        "another count is told",
        gfd(T4, replicas="8", sharing_strategy="time-slicing"),
        ("gives each GPU 8 slots (nvidia.com/gpu.replicas), the profile 4",),
        profile=TS4,
    ),
    Row("0 is no count", gfd(T4, replicas="0", sharing_strategy="time-slicing"), profile=TS4),
    Row("an empty strategy is none said", gfd(T4, replicas="4", sharing_strategy=""), profile=TS4),
    Row(
        "MPS where time slicing is meant is told",
        gfd(T4, replicas="4", sharing_strategy="mps"),
        ("shared by mps (nvidia.com/gpu.sharing-strategy), the profile says time-slicing",),
        profile=TS4,
    ),
    Row(
        "MPS that is meant is fine",
        gfd(T4, replicas="4", sharing_strategy="mps"),
        profile=Profile(replicas=4, mps=True),
    ),
    Row("without a profile nobody knows better", gfd(T4, replicas="8", sharing_strategy="mps")),
    Row(
        "sharing that should not be is told",
        gfd(T4, replicas="2", sharing_strategy="time-slicing"),
        ("gives each GPU 2 slots", "by time-slicing (nvidia.com/gpu.sharing-strategy), the profile says none"),
        profile=Profile(),
    ),
    # The operator
    Row(
        "a MIG manager at work is told",
        {names.MIG_CONFIG_STATE: "pending"},
        ("MIG manager says 'pending' (nvidia.com/mig.config.state)",),
    ),
    Row("one that has ended well is not", {names.MIG_CONFIG_STATE: "success"}),
    Row(
        "GPUs for virtual machines are not compared",
        {**gfd(T4, memory="1", count="9"), names.OPERATOR_WORKLOAD: "vm-vgpu"},
    ),
    # Nodes without GPU
    Row(
        "a GPU where there should be none is told",
        gfd(T4),
        ("counts 1 GPU, Tesla-T4 (nvidia.com/gpu.count), we none of NVIDIA's",),
        facts=CPU,
    ),
    Row(
        "NFD's view of the bus is told",
        {"feature.node.kubernetes.io/pci-10de.present": "true"},
        ("sees a device of NVIDIA's on the PCI bus",),
        facts=CPU,
    ),
    Row(
        "also with the device class in it",
        {"feature.node.kubernetes.io/pci-0302_10de.present": "true"},
        ("on the PCI bus",),
        facts=CPU,
    ),
    Row(
        "a card of somebody else's is none of NVIDIA's",
        {"feature.node.kubernetes.io/pci-1d0f.present": "true", "feature.node.kubernetes.io/pci-10de.present": "false"},
        facts=CPU,
    ),
    # Too early
    Row("before the type is known nothing is compared", gfd(T4, memory="1"), facts=facts_of(node())),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_differs_is_told_with_both_numbers(row: Row) -> None:
    found = said(row.facts, row.labels, row.profile, row.policy)

    assert len(found) == len(row.says), found
    for sentence, part in zip(found, row.says, strict=True):
        assert part in sentence


@pytest.mark.parametrize("gpu", ALL, ids=lambda gpu: gpu.kind)
def test_gfd_on_a_healthy_node_agrees(gpu: Gpu) -> None:
    facts = facts_of(node(gpu.kind), spec=gpu.spec(), probe=gpu.probed())

    assert said(facts, gfd(gpu), Profile(), SUM) == ()


@given(
    labels=st.dictionaries(
        st.sampled_from(
            [names.GFD_MEMORY, names.GFD_COUNT, names.GFD_PRODUCT, names.GFD_REPLICAS, names.MIG_CONFIG_STATE]
        ),
        st.text(max_size=63) | st.integers(0, 10**25).map(str),
    ),
    profile=st.sampled_from([None, Profile(), TS4]),
    facts=st.sampled_from([FOUND, FOUR, CPU, facts_of(node(), spec=T4.spec(), probe=report(GpuReading(0)))]),
)
def test_no_label_is_too_odd(labels: Mapping[str, str], profile: Profile | None, facts: CapacityFacts) -> None:
    """A person, or a GFD of a year to come, may write anything."""
    assert all(said(facts, labels, profile))
