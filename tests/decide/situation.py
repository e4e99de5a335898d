"""One situation of a node, and the answer that it must get; with what the tables of them share."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reconciler.decide.capacity import CapacityFacts
from reconciler.model import names
from reconciler.model.gpu import GpuSpec, SpecUnknown, Vendor
from reconciler.model.node import InstanceType, Taint
from reconciler.model.policy import CapacityPolicy, MultiGpu, Override
from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.probe_state import Probed, ProbeFailed
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord, Source
from tests.decide.figures import PROBED_AT, T4

POLICY = CapacityPolicy()
SUM = CapacityPolicy(multi_gpu=MultiGpu.SUM)
LARGEST = CapacityPolicy(multi_gpu=MultiGpu.LARGEST)
NO_PROBE = CapacityPolicy(probe=False)
TAKES_ALL = CapacityPolicy(margin_mib=20000)
JOIN = ["Announce", "Advertise", "RunProbe"]
SAY = ["Announce", "Advertise"]
TEACH = ["Announce", "Advertise", "Learn"]


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
