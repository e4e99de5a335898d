"""decide/capacity.py: one row for each situation a node can be in, with the answer it gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from reconciler.decide.capacity import CapacityFacts, decide
from reconciler.model import names
from reconciler.model.gpu import GpuSpec, NoGpu, SpecUnknown, Vendor
from reconciler.model.node import InstanceType, Taint
from reconciler.model.plan import Advertise, Announce
from reconciler.model.policy import CapacityPolicy, MultiGpu, Override
from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.probe_state import Probed, ProbeFailed, Probing
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Source, UnreadableRecord
from tests.decide.fake_node import NOW, facts_of, kinds, node
from tests.decide.figures import A10G, A100, H100, L4, L4_FOUR, L4_SLICE, PROBED_AT, T4, T4_FOUR

POLICY = CapacityPolicy()
SUM = CapacityPolicy(multi_gpu=MultiGpu.SUM)
LARGEST = CapacityPolicy(multi_gpu=MultiGpu.LARGEST)
NO_PROBE = CapacityPolicy(probe=False)
TAKES_ALL = CapacityPolicy(margin_mib=20000)
JOIN = ["Advertise", "RunProbe", "Announce"]
SAY = ["Advertise", "Announce"]
TEACH = ["Advertise", "Learn", "Announce"]


def failed(reason: ProbeReason, message: str = "") -> ProbeFailed:
    return ProbeFailed(reason, message, PROBED_AT)


def report(*gpus: GpuReading, error: ProbeReason | None = None, message: str = "") -> Probed:
    return Probed(ProbeReport("580.1", "13", gpus, error, message), PROBED_AT)


def overridden(mib: int | None = None, margin: int | None = None) -> CapacityPolicy:
    return CapacityPolicy(overrides={InstanceType("g4dn.xlarge"): Override(mib, margin)})


def spec(vendor: Vendor, model: str) -> GpuSpec:
    return GpuSpec(InstanceType("g4ad.xlarge"), model, vendor, 1, 8192)


KARPENTER = {names.KARPENTER_NODEPOOL: "gpu"}
REGISTERED = KARPENTER | {names.KARPENTER_REGISTERED: "true"}
PROVISIONER = {names.KARPENTER_PROVISIONER: "gpu"}
UNREGISTERED = (Taint(names.KARPENTER_UNREGISTERED_TAINT, "NoExecute"),)
PLAIN = {"cpu": 4000, "pods": 29}
UNKNOWN = SpecUnknown(InstanceType("g9.xlarge"), "EC2 does not know g9.xlarge and the built-in table lacks it")
OLD_DRIVER = GpuReading(0, "Tesla T4", "", 15109 * MIB)
FOUR_LESS_ONE = (*(T4.reading(i) for i in range(3)), GpuReading(3, "Tesla T4", error=ProbeReason.GPU_LOST))
MIG_GPU = GpuReading(0, "NVIDIA A100", "", 40960 * MIB, 580 * MIB, mig=(MigSlice(4864, 7),))
MIG_UNREADABLE = GpuReading(0, "NVIDIA A100", mig=(), error=ProbeReason.NO_PERMISSION)
VERIFIED = CapacityRecord(POLICY.resource, 14910, Source.NVML, "T4", 1, 16384, "boot-1", T4.probed())
BEFORE_BOOT = replace(VERIFIED, boot_id="boot-0")
BROKEN_BEFORE_BOOT = CapacityRecord(
    POLICY.resource, None, Source.NONE, "T4", 1, 16384, "boot-0", failed(ProbeReason.GPU_LOST)
)


@dataclass(frozen=True)
class Row:
    name: str
    facts: CapacityFacts
    reason: Reason
    mib: int | None
    actions: list[str]
    says: str = ""
    policy: CapacityPolicy = POLICY
    source: Source | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


ROWS = [
    # Not there yet, or on its way out
    Row("a deleted node is left alone", facts_of(node(deleting=True), spec=T4.spec()), Reason.DELETING, None, []),
    Row(
        "a node that Karpenter has not registered is Karpenter's",
        facts_of(node(labels=KARPENTER), spec=T4.spec()),
        Reason.NOT_READY,
        None,
        [],
        "Karpenter has not registered",
    ),
    Row(
        "the unregistered taint alone tells it too",
        facts_of(node(taints=UNREGISTERED), spec=T4.spec()),
        Reason.NOT_READY,
        None,
        [],
    ),
    Row(
        "a registered node is served",
        facts_of(node(labels=REGISTERED), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        JOIN,
    ),
    Row(
        "a node of a Provisioner is never registered, so nobody waits for it",
        facts_of(node(labels=PROVISIONER, taints=UNREGISTERED), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        JOIN,
    ),
    Row(
        "without an instance type nobody knows the GPU, and the owner of a GPU node is told",
        facts_of(node(None)),
        Reason.NO_INSTANCE_TYPE,
        None,
        SAY,
        "no label node.kubernetes.io/instance-type",
    ),
    Row(
        "without an instance type and without a sign of a GPU nothing is written",
        facts_of(node(None, capacity=PLAIN)),
        Reason.NO_INSTANCE_TYPE,
        None,
        [],
    ),
    Row("a type that is being looked up is waited for", facts_of(node()), Reason.AWAITING_TYPE, None, []),
    Row(
        "the built-in table bridges the time until EC2 has answered",
        facts_of(node(), builtin=T4.builtin()),
        Reason.PROVISIONAL,
        14592,
        JOIN,
        source=Source.BUILTIN,
    ),
    # None of our business
    Row(
        "a node without GPU is none of our business",
        facts_of(node("m5.large", capacity=PLAIN), spec=NoGpu(InstanceType("m5.large"))),
        Reason.NO_GPU,
        None,
        [],
        "m5.large has no GPU",
    ),
    Row(
        "Neuron is no GPU",
        facts_of(node("inf2.xlarge", capacity=PLAIN), spec=NoGpu(InstanceType("inf2.xlarge"), "Neuron")),
        Reason.NO_GPU,
        None,
        [],
        "has Neuron and no GPU",
    ),
    Row(
        "AMD's GPU is not NVIDIA's",
        facts_of(node("g4ad.xlarge"), spec=spec(Vendor.AMD, "Radeon Pro V520")),
        Reason.NOT_NVIDIA,
        None,
        [],
        "Radeon Pro V520",
    ),
    Row(
        "Habana's is not either",
        facts_of(node(), spec=spec(Vendor.HABANA, "Gaudi")),
        Reason.NOT_NVIDIA,
        None,
        [],
    ),
    # Unknown types
    Row(
        "an unknown type without a sign of a GPU is left alone",
        facts_of(node("g9.xlarge", capacity=PLAIN), spec=UNKNOWN),
        Reason.UNKNOWN_TYPE,
        None,
        [],
        "EC2 does not know g9.xlarge",
    ),
    Row(
        "an unknown type with a device plugin is probed",
        facts_of(node("g9.xlarge"), spec=UNKNOWN),
        Reason.UNKNOWN_TYPE,
        None,
        JOIN,
    ),
    Row(
        "an unknown type that others label as a GPU node is probed",
        facts_of(node("g9.xlarge", capacity=PLAIN, labels={names.GPU_PRESENT: "true"}), spec=UNKNOWN),
        Reason.UNKNOWN_TYPE,
        None,
        JOIN,
    ),
    Row(
        "NVML's word on an unknown type is enough",
        facts_of(node("g9.xlarge"), spec=UNKNOWN, probe=T4.probed()),
        Reason.VERIFIED,
        14910,
        TEACH,
        "nobody else knows the type",
    ),
    Row(
        "what siblings have taught of an unknown type is right at once",
        facts_of(node("g9.xlarge", capacity=PLAIN), spec=UNKNOWN, learned=T4.learned()),
        Reason.LEARNED,
        14910,
        JOIN,
    ),
    Row(
        "GPUs of which EC2 gives no number are not taken for one",
        facts_of(node("p5.4xlarge"), spec=H100.spec(table=False, count=0)),
        Reason.UNKNOWN_TYPE,
        None,
        JOIN,
        "does not say how many",
    ),
    Row(
        "the table's own row helps out where EC2 counts 0",
        facts_of(node("g6f.large"), spec=L4_SLICE.spec(count=0)),
        Reason.PROVISIONAL,
        2861 - 512,
        JOIN,
        source=Source.EC2,
    ),
    Row(
        "a probe tells the number that EC2 does not",
        facts_of(node("p5.4xlarge"), spec=H100.spec(table=False, count=0), probe=H100.probed()),
        Reason.VERIFIED,
        80999,
        TEACH,
    ),
    # Provisional figures
    Row(
        "before the probe the smaller of NVML's known figure and EC2's counts, less a margin",
        facts_of(node("g5.xlarge"), spec=A10G.spec()),
        Reason.PROVISIONAL,
        22888 - 1145,
        JOIN,
        "EC2 says 22888 MiB for one A10G, the built-in table 23028",
        source=Source.EC2,
    ),
    Row(
        "without the table EC2's figure loses the tolerance and a margin",
        facts_of(node(), spec=T4.spec(table=False)),
        Reason.PROVISIONAL,
        14745 - 738,
        JOIN,
        "EC2 says 16384 MiB",
        source=Source.EC2,
    ),
    Row(
        "EC2's field with the total of all GPUs in it is seen through",
        facts_of(node("g6.12xlarge"), spec=L4_FOUR.spec(ec2_mib=91553)),
        Reason.PROVISIONAL,
        4 * (23034 - 1152),
        JOIN,
        "EC2 says 91553 MiB for one L4, the built-in table 22888: the smaller counts",
        policy=SUM,
    ),
    Row(
        "a much smaller figure of EC2 counts as well",
        facts_of(node("g6.xlarge"), spec=L4.spec(ec2_mib=11444)),
        Reason.PROVISIONAL,
        11444 - 573,
        JOIN,
        "the smaller counts",
        source=Source.EC2,
    ),
    Row(
        "what siblings have taught goes before table and EC2",
        facts_of(node(), spec=T4.spec(), learned=T4.learned()),
        Reason.LEARNED,
        14910,
        JOIN,
        "probes of g4dn.xlarge nodes found 15360 MiB, 450 reserved by the driver",
        source=Source.LEARNED,
    ),
    Row(
        "a lesson of another number of GPUs is not for this type",
        facts_of(node(), spec=T4.spec(), learned=replace(T4.learned(), count=4)),
        Reason.PROVISIONAL,
        14592,
        JOIN,
    ),
    Row(
        "a lesson that cannot be true is not believed",
        facts_of(node(), spec=T4.spec(), learned=replace(T4.learned(), reserved_mib=99999)),
        Reason.PROVISIONAL,
        14592,
        JOIN,
    ),
    Row(
        "a person's figure goes before all",
        facts_of(node(), spec=T4.spec(), learned=T4.learned()),
        Reason.OVERRIDDEN,
        15079,
        JOIN,
        "capacity.overrides gives 15079 MiB",
        policy=overridden(15079),
        source=Source.NONE,
    ),
    Row(
        "a margin per type takes the place of the general one",
        facts_of(node(), spec=T4.spec(), learned=T4.learned()),
        Reason.LEARNED,
        14900,
        JOIN,
        "10 kept back as margin",
        policy=replace(overridden(margin=10), margin_mib=500),
    ),
    Row(
        "a margin that takes all is said, and nothing is advertised",
        facts_of(node(), spec=T4.spec(), probe=T4.probed()),
        Reason.NOTHING_LEFT,
        None,
        TEACH,
        "lower them",
        policy=TAKES_ALL,
    ),
    Row(
        "with probes switched off the figure stays unverified",
        facts_of(node(), spec=T4.spec()),
        Reason.UNVERIFIED,
        14592,
        SAY,
        "probes are switched off",
        policy=NO_PROBE,
    ),
    Row(
        "a node that is not ready cannot run a probe yet",
        facts_of(node(ready=False), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        SAY,
    ),
    Row(
        "a running probe is not started again, and its trouble is told",
        facts_of(node(), spec=T4.spec(), probe=Probing(NOW, "ImagePullBackOff: no such image")),
        Reason.PROVISIONAL,
        14592,
        SAY,
        "the probe waits: ImagePullBackOff: no such image",
    ),
    # NVML has spoken
    Row(
        "NVML and EC2 agree",
        facts_of(node(), spec=T4.spec(), probe=T4.probed()),
        Reason.VERIFIED,
        14910,
        TEACH,
        "NVML and EC2 agree on the T4: 15360 MiB in all, 450 reserved by the driver; 14910 MiB advertised",
        source=Source.NVML,
    ),
    Row(
        "NVML counts also where it is the larger",
        facts_of(node("g6f.large"), spec=L4_SLICE.spec(), probe=L4_SLICE.probed()),
        Reason.VERIFIED,
        2816,
        TEACH,
    ),
    Row(
        "what is known already is not taught again",
        facts_of(node(), spec=T4.spec(), probe=T4.probed(), learned=T4.learned()),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "an older probe does not bring back what a newer one replaced",
        facts_of(
            node(),
            spec=T4.spec(),
            probe=T4.probed(),
            learned=replace(T4.learned(NOW), driver="590.1", reserved_mib=460),
        ),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "where EC2 was not asked the built-in table is the witness",
        facts_of(node(), spec=T4.builtin(), probe=T4.probed()),
        Reason.VERIFIED,
        14910,
        TEACH,
        "NVML and the built-in table agree on the T4 (EC2 could not be asked)",
    ),
    Row(
        "figures far apart are reported, and NVML's counts",
        facts_of(node("g6.xlarge"), spec=L4.spec(ec2_mib=91553), probe=L4.probed()),
        Reason.MISMATCH,
        22614,
        TEACH,
        "75 % apart",
        source=Source.NVML,
    ),
    Row(
        "the margin is taken off NVML's figure",
        facts_of(node(), spec=T4.spec(), probe=T4.probed()),
        Reason.VERIFIED,
        14910 - 299,
        TEACH,
        "299 kept back as margin",
        policy=CapacityPolicy(margin_mib=30, margin_percent=2.0),
    ),
    Row(
        "a driver that does not say what it reserves gets a share taken off, and teaches nothing",
        facts_of(node(), spec=T4.spec(), probe=report(OLD_DRIVER)),
        Reason.VERIFIED,
        15109 - 756,
        SAY,
        "756 taken for the driver, which is too old to say",
    ),
    Row(
        "a person's figure is cut to what NVML found",
        facts_of(node(), spec=T4.spec(), probe=T4.probed()),
        Reason.OVERRIDDEN,
        14910,
        TEACH,
        "capacity.overrides gives 16000, more than that leaves",
        policy=overridden(16000),
        source=Source.NVML,
    ),
    Row(
        "a person's smaller figure stands beside NVML's",
        facts_of(node(), spec=T4.spec(), probe=T4.probed()),
        Reason.OVERRIDDEN,
        14000,
        TEACH,
        "capacity.overrides gives 14000",
        policy=overridden(14000),
    ),
    # Several GPUs
    Row(
        "several GPUs are skipped by default, without a probe",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec()),
        Reason.MULTI_GPU,
        None,
        SAY,
        "fit no single GPU",
    ),
    Row(
        "more GPUs than EC2 promised are several GPUs",
        facts_of(node(), spec=T4.spec(), probe=T4.probed(count=2)),
        Reason.MULTI_GPU,
        None,
        SAY,
        "2 T4 GPUs",
    ),
    Row(
        "the sum is advertised where the policy says so",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed()),
        Reason.VERIFIED,
        4 * 14910,
        TEACH,
        "59640 MiB advertised as the sum of its GPUs",
        policy=SUM,
    ),
    Row(
        "the largest GPU is a label, and nothing is advertised",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed()),
        Reason.MULTI_GPU,
        None,
        TEACH,
        policy=LARGEST,
        extra={names.LABEL_MEMORY_MIB: "15360", names.LABEL_COUNT: "4"},
    ),
    Row(
        "a lost GPU leaves the sum of the others",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=report(*FOUR_LESS_ONE)),
        Reason.GPU_LOST,
        3 * 14910,
        SAY,
        "NVML reads 3 of 4 T4 (GPU 3: GpuLost)",
        policy=SUM,
    ),
    Row(
        "a GPU that fell off the bus without a trace is lost too",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed(count=3)),
        Reason.GPU_LOST,
        3 * 14910,
        SAY,
        "NVML reads 3 of 4 T4",
        policy=SUM,
    ),
    Row(
        "a lost GPU is told where nothing is advertised anyway",
        facts_of(node("g4dn.12xlarge"), spec=T4_FOUR.spec(), probe=T4_FOUR.probed(count=3)),
        Reason.GPU_LOST,
        None,
        SAY,
        policy=LARGEST,
    ),
    # MIG
    Row(
        "the device plugin's MIG resources tell that MIG is on",
        facts_of(node("p4d.24xlarge", capacity=PLAIN | {"nvidia.com/mig-1g.5gb": 56}), spec=A100.spec()),
        Reason.MIG,
        None,
        SAY,
        "nvidia.com/mig-1g.5gb",
    ),
    Row(
        "so does the MIG manager's label",
        facts_of(node(labels={names.MIG_CONFIG: "all-1g.5gb", names.MIG_CONFIG_STATE: "pending"}), spec=T4.spec()),
        Reason.MIG,
        None,
        SAY,
        "all-1g.5gb (state pending)",
    ),
    Row(
        "MIG that is switched off is no MIG",
        facts_of(node(labels={names.MIG_CONFIG: "all-disabled", names.MIG_CONFIG_STATE: "success"}), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        JOIN,
    ),
    Row(
        "MIG devices that the probe finds",
        facts_of(node("p4d.24xlarge"), spec=A100.spec(), probe=report(MIG_GPU)),
        Reason.MIG,
        None,
        SAY,
        policy=SUM,
    ),
    Row(
        "MIG mode without a device, unreadable for the probe",
        facts_of(node("p4d.24xlarge"), spec=A100.spec(), probe=report(MIG_UNREADABLE)),
        Reason.MIG,
        None,
        SAY,
        policy=SUM,
    ),
    # Final verdicts without figures
    *(
        Row(
            f"a GPU that cannot be used is withdrawn: {reason}",
            facts_of(node(), spec=T4.spec(), probe=failed(reason, "said NVML.")),
            Reason.NO_NVML,
            None,
            SAY,
            f"{reason} (said NVML): ",
        )
        for reason in (
            ProbeReason.LIBRARY_NOT_FOUND,
            ProbeReason.DRIVER_NOT_LOADED,
            ProbeReason.VERSION_MISMATCH,
            ProbeReason.NO_GPU,
            ProbeReason.GPU_LOST,
        )
    ),
    *(
        Row(
            f"a probe at fault leaves the figure, unverified: {reason}",
            facts_of(node(), spec=T4.spec(), probe=failed(reason)),
            Reason.UNVERIFIED,
            14592,
            SAY,
            f"14592 MiB advertised unverified: the probe gave no figure, {reason}: ",
        )
        for reason in (
            ProbeReason.NOT_STARTED,
            ProbeReason.TIMEOUT,
            ProbeReason.BAD_REPORT,
            ProbeReason.UNEXPECTED,
            ProbeReason.NO_PERMISSION,
            ProbeReason.NOT_SUPPORTED,
            ProbeReason.UNIFIED_MEMORY,
        )
    ),
    Row(
        "a report of an error is a verdict like a failed Job",
        facts_of(node(), spec=T4.spec(), probe=report(error=ProbeReason.DRIVER_NOT_LOADED)),
        Reason.NO_NVML,
        None,
        SAY,
    ),
    Row(
        "a report without GPUs found none",
        facts_of(node(), spec=T4.spec(), probe=report()),
        Reason.NO_NVML,
        None,
        SAY,
        "NoGpu",
    ),
    Row(
        "the only GPU that is lost leaves nothing",
        facts_of(node(), spec=T4.spec(), probe=report(GpuReading(0, error=ProbeReason.GPU_LOST))),
        Reason.NO_NVML,
        None,
        SAY,
    ),
    Row(
        "a GPU whose memory NVML does not know keeps the promised figure",
        facts_of(node(), spec=T4.spec(), probe=report(GpuReading(0, "NVIDIA GB10", error=ProbeReason.UNIFIED_MEMORY))),
        Reason.UNVERIFIED,
        14592,
        SAY,
    ),
    Row(
        "a person's figure stands where the probe gave none",
        facts_of(node(), spec=T4.spec(), probe=failed(ProbeReason.NOT_SUPPORTED)),
        Reason.OVERRIDDEN,
        15000,
        SAY,
        policy=overridden(15000),
    ),
    Row(
        "a type that nobody knows and a probe without figures leave nothing to say",
        facts_of(node("g9.xlarge"), spec=UNKNOWN, probe=failed(ProbeReason.TIMEOUT)),
        Reason.UNKNOWN_TYPE,
        None,
        SAY,
    ),
    # What the node remembers
    Row(
        "the record's probe of this boot is not asked again",
        facts_of(node(annotation=VERIFIED), spec=T4.spec(), learned=T4.learned()),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "after a boot the old figure stays until the new probe has answered",
        facts_of(node(annotation=BEFORE_BOOT), spec=T4.spec()),
        Reason.LEARNED,
        14910,
        JOIN,
        "as before the node's last boot",
        source=Source.LEARNED,
    ),
    Row(
        "after a boot as another type the old figure is not this GPU's",
        facts_of(node("g5.xlarge", annotation=BEFORE_BOOT), spec=A10G.spec()),
        Reason.PROVISIONAL,
        21743,
        JOIN,
    ),
    Row(
        "a GPU that was broken before the boot is trusted when the probe says so",
        facts_of(node(annotation=BROKEN_BEFORE_BOOT), spec=T4.spec()),
        Reason.NO_NVML,
        None,
        JOIN,
        "found before the node's last boot",
    ),
    Row(
        "without probes nothing would ever correct it, so it does not count",
        facts_of(node(annotation=BROKEN_BEFORE_BOOT), spec=T4.spec()),
        Reason.UNVERIFIED,
        14592,
        SAY,
        policy=NO_PROBE,
    ),
    Row(
        "the record bridges a restart without catalog",
        facts_of(node(annotation=VERIFIED)),
        Reason.VERIFIED,
        14910,
        TEACH,
        "NVML and EC2 agree",
    ),
    Row(
        "the record bridges a lost label",
        facts_of(node(None, annotation=VERIFIED)),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "EC2's figure is not forgotten while EC2 has not been asked again",
        facts_of(node(annotation=VERIFIED), builtin=T4.builtin(), learned=T4.learned()),
        Reason.VERIFIED,
        14910,
        SAY,
        "NVML and EC2 agree",
    ),
    Row(
        "an unreadable record is rebuilt, and that is told",
        facts_of(node(annotation=UnreadableRecord("v is 9")), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        ["Advertise", "RunProbe", "Announce", "Announce"],
        "could not be read (v is 9) and is rebuilt",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_node_in_this_situation_gets_this_answer(row: Row) -> None:
    decision = decide(row.facts, row.policy, NOW)

    assert decision.plan.reason is row.reason
    assert decision.verdict.mib == row.mib
    assert kinds(decision.plan) == row.actions
    assert row.says in decision.plan.because
    assert row.source is None or decision.verdict.source is row.source
    for patch in (action for action in decision.plan.actions if isinstance(action, Advertise)):
        amount = None if row.mib is None else row.mib * MIB
        assert patch.resources.get(row.policy.resource) == amount
        assert patch.condition is not None
        assert patch.condition.status == ("False" if row.mib is None else "True")
        assert row.extra.items() <= patch.labels.items()
        assert patch.condition.message in decision.plan.because


def test_every_reason_has_a_row_here_or_a_story() -> None:
    """The reasons that come from what stands on a node are in test_claim.py."""
    elsewhere = {Reason.WOULD_OVERCOMMIT, Reason.FOREIGN_VALUE, Reason.CONTESTED}

    assert {row.reason for row in ROWS} == set(Reason) - elsewhere


def test_row_names_are_sentences_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


WARNS = {Reason.MISMATCH, Reason.GPU_LOST, Reason.NO_NVML, Reason.UNVERIFIED, Reason.NOTHING_LEFT}


@pytest.mark.parametrize("row", [row for row in ROWS if "Announce" in row.actions], ids=lambda row: row.name)
def test_a_new_reason_is_announced_and_warns_where_a_person_should_look(row: Row) -> None:
    said = [action for action in decide(row.facts, row.policy, NOW).plan.actions if isinstance(action, Announce)]

    assert said[0].reason is row.reason
    assert said[0].warning == (row.reason in WARNS and row.policy.probe)


def test_the_first_answer_of_a_node_is_looked_at_again_while_its_probe_runs() -> None:
    decision = decide(facts_of(node(), spec=T4.spec(), probe=Probing(NOW)), POLICY, NOW)

    assert decision.plan.revisit == timedelta(seconds=30)
