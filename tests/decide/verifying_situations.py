"""Nodes, what a pod saw on them, and what must be said of it; the table of decide/verifying."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from reconciler.model import names
from reconciler.model.node import Condition, NodeKey, NodeName, NodeView, Taint
from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.probe_state import Probed
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import CapacityRecord, Source
from reconciler.model.trial import (
    Answered,
    Bound,
    Died,
    NoImage,
    NoPod,
    NotStarted,
    Reached,
    Refused,
    Running,
    Trial,
    Unscheduled,
)
from reconciler.model.verification import StepName, StepState, VerifyPolicy

AT = datetime(2026, 5, 1, tzinfo=UTC)
POLICY = VerifyPolicy()
MEMORY, GPU, SHARED = names.MEMORY_RESOURCE, names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE
MIG = "nvidia.com/mig-1g.5gb"
N, P, S = StepName, POLICY, StepState

T4 = GpuReading(0, "Tesla T4", "GPU-1", 15360 * MIB, 450 * MIB)
A10G = GpuReading(0, "NVIDIA A10G", "GPU-9", 23028 * MIB, 297 * MIB)
RECORD = CapacityRecord(MEMORY, 14910, Source.NVML, "T4", 1, 16384, "boot-1", Probed(ProbeReport(gpus=(T4,)), AT))


def condition(reason: str, *, true: bool, kind: str = names.CONDITION, message: str = "as it is") -> Condition:
    return Condition(kind, "True" if true else "False", reason, message, AT)


NODE = NodeView(
    key=NodeKey(NodeName("n"), "u"),
    instance_type=None,
    boot_id="boot-1",
    ready=True,
    created=AT,
    labels={},
    taints=(),
    capacity={GPU: 1, MEMORY: 14910 * MIB},
    allocatable={GPU: 1, MEMORY: 14910 * MIB},
    condition=condition("Verified", true=True),
    record=RECORD,
)


def node(**changes: Any) -> NodeView:
    return replace(NODE, **changes)


def offers(amounts: dict[str, int], **changes: Any) -> NodeView:
    return node(capacity=amounts, allocatable=amounts, **changes)


def trial(reached: Reached, *, late: bool = False) -> Trial:
    return Trial("gpu-verify-1", reached, AT, late)


def saw(*gpus: GpuReading, error: ProbeReason | None = None, message: str = "") -> Answered:
    return Answered(ProbeReport("580.1", "13.580.1", gpus, error, message))


def sharing(reason: SharingReason, *, true: bool = True, message: str = "as it is") -> Condition:
    return condition(reason.value, true=true, kind=names.SHARING_CONDITION, message=message)


@dataclass(frozen=True)
class Row:
    name: str
    node: NodeView = NODE
    reached: Reached = field(default_factory=lambda: saw(T4))
    step: StepName = N.GPUS
    state: StepState = S.OK
    says: str = ""
    late: bool = False


SLICED = {names.PLUGIN_CONFIG: "ts-4"}
DISRUPTED = (Taint(names.KARPENTER_DISRUPTED_TAINT, "NoSchedule"),)
FOUR = replace(RECORD, count=4, advertised_mib=4 * 14910, probe=None)
BY_LABELS = {names.GFD_PRODUCT: "Tesla-T4-SHARED", names.GFD_MEMORY: "15360", names.GFD_COUNT: "1"}
CUT_UP = GpuReading(0, "NVIDIA A100-SXM4-40GB", "GPU-1", mig=(MigSlice(4864, 1),))

ROWS = [
    # the node alone
    Row("deleted", node(deleting=True), step=N.NODE, state=S.SKIPPED, says="being deleted"),
    Row("disrupted", node(taints=DISRUPTED), step=N.NODE, state=S.SKIPPED, says="emptied by Karpenter"),
    Row(
        "VMs", node(labels={names.OPERATOR_WORKLOAD: "vm-vgpu"}), step=N.NODE, state=S.SKIPPED, says="virtual machines"
    ),
    Row("not ready", node(ready=False), step=N.NODE, state=S.FAILED, says="not Ready"),
    Row(
        "no GPU at all", offers({"cpu": 4000}, record=None), step=N.OFFERED, state=S.FAILED, says="nothing on the node"
    ),
    Row("no plugin", offers({"cpu": 4000}), step=N.OFFERED, state=S.FAILED, says="no device plugin has offered"),
    Row("plugin of none", offers({GPU: 0}), step=N.OFFERED, state=S.FAILED, says="offers 0 nvidia.com/gpu"),
    Row(
        "unhealthy",
        node(allocatable={GPU: 0}),
        step=N.OFFERED,
        state=S.FAILED,
        says="has 1 nvidia.com/gpu and can give",
    ),
    Row("exclusive", step=N.SLOTS, says="1 nvidia.com/gpu for 1 GPU; nobody says"),
    Row(
        "sliced by our rule",
        offers({GPU: 4}, labels=SLICED, sharing_condition=sharing(SharingReason.SLICED)),
        step=N.SLOTS,
        says="4 nvidia.com/gpu are offered, as 1 GPU (the node's record) times 4 (the profile ts-4) make 4",
    ),
    Row(
        "fewer than the profile",
        offers(
            {GPU: 1}, labels=SLICED, sharing_condition=sharing(SharingReason.WRONG_COUNT, true=False, message="why")
        ),
        step=N.SLOTS,
        state=S.FAILED,
        says="1 nvidia.com/gpu are offered, fewer than 1 GPU (the node's record) times 4 (the profile ts-4) make 4;"
        " GPUSharingReady says: why",
    ),
    Row(
        "more than the profile",
        offers({GPU: 4}, labels={names.PLUGIN_CONFIG: "exclusive"}, sharing_condition=sharing(SharingReason.EXCLUSIVE)),
        step=N.SLOTS,
        state=S.FAILED,
        says="more than 1 GPU",
    ),
    Row("a label of others", offers({GPU: 7}, labels=SLICED), step=N.SLOTS, says="nobody says how they are shared"),
    Row(
        "the host's own plugin",
        offers({SHARED: 2}, labels=SLICED, sharing_condition=sharing(SharingReason.HOST_PLUGIN, true=False)),
        step=N.SLOTS,
        says="2 nvidia.com/gpu.shared for 1 GPU",
    ),
    Row(
        "GFD counts",
        offers({SHARED: 3}, labels={names.GFD_REPLICAS: "4"}),
        step=N.SLOTS,
        state=S.FAILED,
        says="times 4 (the label nvidia.com/gpu.replicas)",
    ),
    Row(
        "hidden GPUs", offers({GPU: 3}, record=FOUR), step=N.SLOTS, state=S.FAILED, says="the node's record has 4 GPUs"
    ),
    Row("nobody counts", node(record=None), step=N.SLOTS, state=S.SKIPPED, says="nobody says how many"),
    Row("MIG slots", offers({MIG: 7, GPU: 0}), step=N.SLOTS, state=S.SKIPPED, says="MIG manager"),
    Row("advertised", step=N.ADVERTISED, says="14910 MiB of"),
    Row("no controller", offers({GPU: 1}, condition=None), step=N.ADVERTISED, state=S.SKIPPED, says="no controller"),
    Row(
        "not on purpose",
        offers({GPU: 1}, condition=condition("NoNVML", true=False, message="lost")),
        step=N.ADVERTISED,
        state=S.FAILED,
        says="NoNVML, lost",
    ),
    Row(
        "on purpose",
        offers({GPU: 1}, condition=condition(Reason.MULTI_GPU, true=False)),
        step=N.ADVERTISED,
        state=S.SKIPPED,
        says="MultiGPU",
    ),
    Row(
        "forgotten",
        offers({GPU: 1}),
        step=N.ADVERTISED,
        state=S.FAILED,
        says="gpu-memory is not offered: Verified",
    ),
    Row("too little", offers({GPU: 1, MEMORY: MIB}), step=N.ADVERTISED, state=S.FAILED, says="only 1048576 bytes"),
    # how far the pod came
    Row("no pod", NODE, NoPod("BackoffLimitExceeded: x"), N.CREATED, S.FAILED, "(BackoffLimitExceeded: x)"),
    Row("no word", NODE, NoPod(), N.CREATED, S.FAILED, "the Job says nothing"),
    Row(
        "full", NODE, Unscheduled("0/1 nodes"), N.SCHEDULED, S.FAILED, "before the Job's deadline: 0/1 nodes", late=True
    ),
    Row("no scheduler", NODE, Unscheduled(), N.SCHEDULED, S.FAILED, "is kube-scheduler running?"),
    Row("silent kubelet", NODE, Bound(), N.ADMITTED, S.FAILED, "the kubelet did not begin"),
    Row("slow image", NODE, Bound("ContainerCreating"), N.IMAGE, S.FAILED, "verify.deadline"),
    Row("out of", NODE, Refused("OutOfcpu", "not enough"), N.ADMITTED, S.FAILED, "OutOfcpu, not enough; the scheduler"),
    Row(
        "device", NODE, Refused("UnexpectedAdmissionError", "x"), N.ADMITTED, S.FAILED, "the device plugin gave no GPU"
    ),
    Row("other refusal", NODE, Refused("", ""), N.ADMITTED, S.FAILED, "no reason given"),
    Row("image", NODE, NoImage("ErrImagePull", "404"), N.IMAGE, S.FAILED, "ErrImagePull, 404"),
    Row("runtime", NODE, NotStarted("StartError", "nvml"), N.STARTED, S.FAILED, "StartError, nvml"),
    Row("hangs", NODE, Running(), N.LIBRARY, S.FAILED, "gave no answer before the Job's deadline", late=True),
    Row("dies", NODE, Died(139, "Error: core dumped"), N.LIBRARY, S.FAILED, "exit code 139 and no report"),
    # what it sees
    Row("library", NODE, saw(error=ProbeReason.LIBRARY_NOT_FOUND), N.LIBRARY, S.FAILED, "verify.runtime_class"),
    Row(
        "no devices", NODE, saw(error=ProbeReason.DRIVER_NOT_LOADED), N.DRIVER, S.FAILED, "the library is there and no"
    ),
    Row("cgroup", NODE, saw(error=ProbeReason.UNEXPECTED, message="999"), N.DRIVER, S.FAILED, "(Unexpected: 999)"),
    Row(
        "driver", node(record=None), saw(error=ProbeReason.DRIVER_NOT_LOADED), N.DRIVER, S.FAILED, "driver is not load"
    ),
    Row(
        "driver of old", node(boot_id="b2"), saw(error=ProbeReason.DRIVER_NOT_LOADED), N.DRIVER, S.FAILED, "is not load"
    ),
    Row("versions", NODE, saw(error=ProbeReason.VERSION_MISMATCH), N.DRIVER, S.FAILED, "not of one version"),
    Row("odd reason", NODE, saw(error=ProbeReason.GPU_LOST), N.DRIVER, S.FAILED, "NVML cannot read the GPU (GPULost)"),
    Row("no GPU", NODE, saw(error=ProbeReason.NO_GPU, message="none"), N.GPUS, S.FAILED, "and sees none"),
    Row("empty report", NODE, saw(), N.GPUS, S.FAILED, "and sees none"),
    Row("leak", NODE, saw(T4, replace(T4, index=1)), N.GPUS, S.FAILED, "sees 2 GPUs: pods are not kept apart"),
    Row("lost", NODE, saw(GpuReading(0, error=ProbeReason.GPU_LOST)), N.GPUS, S.FAILED, "cannot be read: GPULost"),
    Row("one of one", says="the only one of the node"),
    Row("one of four", node(record=FOUR, allocatable={GPU: 4}), says="1 GPU, of 4"),
    Row("one of unknown", node(record=None), says="and no other"),
    Row("a MIG device", offers({MIG: 7}), saw(CUT_UP), says="1 GPU"),
    Row(
        "MIG has sizes of its own", offers({MIG: 7}, record=None), saw(replace(CUT_UP, total=MIB)), N.MEMORY, S.SKIPPED
    ),
    Row(
        "all MIG", offers({MIG: 7}), saw(replace(CUT_UP, mig=(MigSlice(1, 7),))), N.GPUS, S.FAILED, "sees 7 MIG devices"
    ),
    Row("no MIG", offers({MIG: 7}), saw(replace(CUT_UP, mig=())), N.GPUS, S.FAILED, "and sees none"),
    Row("model", step=N.MODEL, says="Tesla T4, as the node's record says (T4)"),
    Row("model by GFD", node(record=None, labels=BY_LABELS), step=N.MODEL, says="gpu.product says (Tesla-T4-SHARED)"),
    Row("another model", NODE, saw(A10G), N.MODEL, S.FAILED, "the pod sees NVIDIA A10G, the node's record says T4"),
    Row("nameless", NODE, saw(replace(T4, name="")), N.MODEL, S.SKIPPED, "gives the GPU no name"),
    Row("no model known", node(record=None), step=N.MODEL, state=S.SKIPPED, says="nobody says which model"),
    Row("memory", step=N.MEMORY, says="15360 MiB, 14910 for programs, as the probe of this boot says; the 14910 MiB"),
    Row("another GPU", NODE, saw(replace(T4, uuid="GPU-2")), N.MEMORY, S.FAILED, "sees GPU-2, the probe of this boot"),
    Row("less", NODE, saw(replace(T4, total=8192 * MIB)), N.MEMORY, S.FAILED, "sees 8192 MiB, the probe of this boot"),
    Row("promised more", NODE, saw(replace(T4, reserved=1000 * MIB)), N.MEMORY, S.FAILED, "leaves programs 14360"),
    Row("by GFD", node(record=None, labels=BY_LABELS, allocatable={GPU: 1}), step=N.MEMORY, says="gpu.memory says"),
    Row(
        "less than GFD says",
        node(record=None, labels={**BY_LABELS, names.GFD_MEMORY: "23028"}),
        step=N.MEMORY,
        state=S.FAILED,
        says="nvidia.com/gpu.memory says 23028",
    ),
    Row(
        "a label in bytes", node(record=None, labels={names.GFD_MEMORY: "16106127360"}), step=N.MEMORY, says="15360 MiB"
    ),
    Row("a sum", node(record=FOUR, allocatable={GPU: 4, MEMORY: 4 * 14910 * MIB}), step=N.MEMORY, says="the 14910 MiB"),
    Row("nothing known", offers({GPU: 1}, record=None), step=N.MEMORY, state=S.SKIPPED, says="nobody says how much"),
    Row("no reserve told", NODE, saw(replace(T4, reserved=None)), N.MEMORY, S.OK, "15360 for programs"),
]
