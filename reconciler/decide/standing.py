"""Is this node any of our business, and is it time? The questions that need no figures, in the order a node lives."""

from reconciler.decide import promise
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.promise import Promise
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.gpu import GpuSpec, NoGpu, SpecUnknown, Vendor
from reconciler.model.node import NodeView
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.model.probe_state import NotProbed
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord

_VM_WORKLOADS = frozenset({"vm-passthrough", "vm-vgpu"})
"""For these the GPU Operator deploys no device plugin for containers; every other value means containers."""


def of(facts: CapacityFacts, policy: CapacityPolicy, record: CapacityRecord | None) -> Verdict | Promise:
    """A verdict where figures do not matter; else what the node is said to have."""
    node = facts.node
    if node.deleting:
        return Verdict(Reason.DELETING, "the node is being deleted")
    if _unregistered(node):
        return Verdict(Reason.NOT_READY, "Karpenter has not registered the node yet, and until then it is its alone")
    answer = promise.known_answer(facts, record)
    if node.instance_type is None and not isinstance(answer, GpuSpec):
        why = f"the node has no label {names.LABEL_INSTANCE_TYPE}, so nobody can say which GPU it has"
        return Verdict(Reason.NO_INSTANCE_TYPE, why)
    match answer:
        case None:
            return Verdict(Reason.AWAITING_TYPE, f"EC2 is being asked what {node.instance_type} has")
        case NoGpu(accelerator=accelerator):
            what = f"has {accelerator} and no GPU" if accelerator else "has no GPU"
            return Verdict(Reason.NO_GPU, f"{node.instance_type} {what}")
        case GpuSpec(vendor=vendor) if vendor is not Vendor.NVIDIA:
            return Verdict(
                Reason.NOT_NVIDIA, f"the GPU of {node.instance_type} ({answer.model}) is not one of NVIDIA's"
            )
        case GpuSpec():
            return _with_gpus(node, policy, promise.of(answer, node.instance_type, facts.learned))
        case SpecUnknown(why=why):
            silence = why or f"nobody knows what {node.instance_type} has"
            # A node that was probed stays one of ours, also when what had hinted at a GPU (the taint, say) is gone.
            probed = not isinstance(facts.probe, NotProbed) or (record is not None and record.probe is not None)
            hinted = probed or looks_like_nvidia(node, policy)
            return _unknown(node, policy, Promise(node.instance_type, ec2_silence=silence), hinted)


def _with_gpus(node: NodeView, policy: CapacityPolicy, promised: Promise) -> Verdict | Promise:
    lent = vm_workload(node)
    if lent:
        return Verdict(
            Reason.VM_WORKLOAD,
            f"{lent}, so no pod can use them and no GPU memory is advertised",
            model=promised.model,
            count=promised.count or 0,
            ec2_mib=promised.ec2_mib,
        )
    sliced = _mig(node)
    if sliced:
        # Before the number of GPUs: a person who would switch the sum on would still get nothing.
        return Verdict(
            Reason.MIG,
            mig(sliced),
            model=promised.model,
            count=promised.count or 0,
            ec2_mib=promised.ec2_mib,
        )
    if policy.multi_gpu is MultiGpu.SKIP and promised.count is not None and promised.count > 1:
        return multi_gpu(promised.count, promised)
    return promised


def mig(sign: str) -> str:
    """The sentence on a node with MIG, by what shows it."""
    return f"{sign}: MIG devices have resources of their own, so no GPU memory is advertised"


def multi_gpu(count: int, promised: Promise) -> Verdict:
    """The answer for several GPUs under the policy `skip`."""
    return Verdict(
        Reason.MULTI_GPU,
        f"{count} {promised.name} GPUs: a node-wide sum would admit pods that fit no single GPU, so nothing is"
        " advertised (capacity.multi_gpu: sum or largest changes that)",
        model=promised.model,
        count=count,
        ec2_mib=promised.ec2_mib,
    )


def _unknown(node: NodeView, policy: CapacityPolicy, promised: Promise, hinted: bool) -> Verdict | Promise:
    answer = _with_gpus(node, policy, promised)
    if isinstance(answer, Verdict) or hinted:
        return answer
    return Verdict(Reason.UNKNOWN_TYPE, promised.ec2_silence)


def looks_like_nvidia(node: NodeView, policy: CapacityPolicy) -> bool:
    """Whether others say that there is an NVIDIA GPU, where the type does not tell."""
    return (
        any(node.capacity.get(name, 0) > 0 for name in (policy.gpu_resource, names.GPU_SHARED_RESOURCE))
        or node.labels.get(names.GPU_PRESENT) == "true"
        or node.labels.get(names.KARPENTER_GPU_MANUFACTURER) == "nvidia"
        or node.has_startup_taint
    )


def vm_workload(node: NodeView) -> str:
    """How the node shows that the GPU Operator gives its GPUs to virtual machines, as a clause, or empty."""
    chosen = node.labels.get(names.OPERATOR_WORKLOAD, "")
    if chosen not in _VM_WORKLOADS:
        return ""
    return f"{names.OPERATOR_WORKLOAD}={chosen} gives the node's GPUs to virtual machines"


def _unregistered(node: NodeView) -> bool:
    if names.KARPENTER_REGISTERED in node.labels or names.KARPENTER_PROVISIONER in node.labels:
        return False
    return names.KARPENTER_NODEPOOL in node.labels or any(
        taint.key == names.KARPENTER_UNREGISTERED_TAINT for taint in node.taints
    )


def _mig(node: NodeView) -> str:
    """How the node itself shows that MIG is on, or empty."""
    devices = sorted(
        name for name, amount in node.capacity.items() if name.startswith(names.MIG_RESOURCES) and amount > 0
    )
    if devices:
        return f"the device plugin offers {', '.join(devices)}"
    wanted = node.labels.get(names.MIG_CONFIG, "all-disabled")
    state = node.labels.get(names.MIG_CONFIG_STATE)
    if state is not None and wanted not in ("", "all-disabled"):
        return f"the MIG manager was asked for {wanted} (state {state})"
    return ""
