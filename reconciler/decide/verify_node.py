"""What can be told of a node's GPU set-up from the node alone, before any pod? Ready, offered, as many, and memory."""

from reconciler.decide import standing, verify_promise
from reconciler.decide.verify_promise import Said
from reconciler.model import names
from reconciler.model.gpu_resource import is_gpu
from reconciler.model.node import NodeView
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from reconciler.model.record import CapacityRecord
from reconciler.model.verification import Step, StepName, StepState, VerifyPolicy

_BY_DECISION = frozenset({Reason.MULTI_GPU, Reason.MIG, Reason.VM_WORKLOAD, Reason.NO_GPU, Reason.NOT_NVIDIA})
"""Nothing is advertised on purpose."""

OK, FAILED, SKIPPED = StepState.OK, StepState.FAILED, StepState.SKIPPED


def steps(node: NodeView, policy: VerifyPolicy) -> tuple[Step, ...]:
    """The first four, or fewer where one of them ends the matter."""
    first = standing_step(node)
    if first.state is not OK:
        return (first,)
    offered = _offered(node, policy)
    if offered.state is not OK:
        return (first, offered)
    return (first, offered, _slots(node, policy), _advertised(node, policy))


def standing_step(node: NodeView) -> Step:
    """Whether it is worth a try now. A node that is going, or that lends its GPUs to others, is not at fault."""
    lent = standing.vm_workload(node)
    if node.deleting or node.disrupted:
        return Step(StepName.NODE, SKIPPED, "the node is being deleted or emptied by Karpenter")
    if lent:
        return Step(StepName.NODE, SKIPPED, f"{lent}, so pods get none")
    if not node.ready:
        return Step(StepName.NODE, FAILED, "the node is not Ready: its kubelet does not answer, so no pod can start")
    return Step(StepName.NODE, OK, "the node is Ready")


def has_gpus(node: NodeView, policy: VerifyPolicy) -> bool:
    """Whether anything on the node speaks of an NVIDIA GPU."""
    record = node.record
    return (
        (isinstance(record, CapacityRecord) and record.count > 0)
        or verify_promise.gpus(node) is not None
        or node.labels.get(names.GPU_PRESENT) == "true"
        or node.labels.get(names.KARPENTER_GPU_MANUFACTURER) == "nvidia"
        or any(is_gpu(name, policy.gpu_resource) for name in node.capacity)
    )


def offered_resource(node: NodeView, policy: VerifyPolicy) -> str:
    """The resource to ask one of; empty where none is to be had. MIG devices first, as the GPU Operator does it."""
    there = sorted(
        name for name, amount in node.allocatable.items() if amount > 0 and is_gpu(name, policy.gpu_resource)
    )
    return next((name for name in there if name.startswith(names.MIG_RESOURCES)), there[0] if there else "")


def _offered(node: NodeView, policy: VerifyPolicy) -> Step:
    name = offered_resource(node, policy)
    if name:
        return Step(StepName.OFFERED, OK, f"the node offers {node.allocatable[name]} {name}")
    idle = sorted(one for one, amount in node.capacity.items() if amount > 0 and is_gpu(one, policy.gpu_resource))
    if idle:
        why = (
            f"the node has {node.capacity[idle[0]]} {idle[0]} and can give none: the device plugin is away, restarting"
            " or calls its GPUs unhealthy; see its pod's log"
        )
    elif any(is_gpu(one, policy.gpu_resource) for one in node.capacity):
        why = (
            f"the device plugin registered and offers 0 {policy.gpu_resource}: it found no GPU (no driver when it"
            " started, or NVIDIA/k8s-device-plugin issue 1645); see its pod's log, then delete the pod"
        )
    elif has_gpus(node, policy):
        why = (
            f"no device plugin has offered {policy.gpu_resource}: see whether its pod runs on this node (its node"
            " selector, its tolerations), or on Bottlerocket and Auto Mode the host's own service"
        )
    else:
        why = "nothing on the node speaks of an NVIDIA GPU"
    return Step(StepName.OFFERED, FAILED, why)


def _slots(node: NodeView, policy: VerifyPolicy) -> Step:
    """As many as the GPUs and the profile make. Where nobody says how they are shared, at least one each."""
    name = offered_resource(node, policy)
    if name.startswith(names.MIG_RESOURCES):
        return Step(StepName.SLOTS, SKIPPED, "MIG devices are counted by the MIG manager's configuration, not by ours")
    count, times = verify_promise.gpus(node), verify_promise.replicas(node)
    offered = node.allocatable[name]
    if count is None:
        return Step(StepName.SLOTS, SKIPPED, "nobody says how many GPUs the node has")
    if times is None:
        if offered < count.number:
            return Step(StepName.SLOTS, FAILED, f"{offered} {name} are offered, {count.by} has {count.number} GPUs")
        return Step(StepName.SLOTS, OK, f"{offered} {name} for {_gpus(count)}; nobody says how they are shared")
    expected = count.number * times.number
    arithmetic = f"{_gpus(count)} ({count.by}) times {times.number} ({times.by}) make {expected}"
    if offered != expected:
        side = "fewer" if offered < expected else "more"
        told = node.sharing_condition
        also = f"; GPUSharingReady says: {told.message}" if told is not None and told.status != "True" else ""
        return Step(StepName.SLOTS, FAILED, f"{offered} {name} are offered, {side} than {arithmetic}{also}")
    return Step(StepName.SLOTS, OK, f"{offered} {name} are offered, as {arithmetic}")


def _advertised(node: NodeView, policy: VerifyPolicy) -> Step:
    """Nothing by decision (several GPUs, MIG) is no fault, and the pod then asks for a GPU alone."""
    amount, told = node.allocatable.get(policy.resource, 0), node.condition
    if amount >= policy.memory:
        return Step(StepName.ADVERTISED, OK, f"{amount // MIB} MiB of {policy.resource} are offered")
    if amount > 0:
        why = f"only {amount} bytes of {policy.resource} are offered, and the pod asks for {policy.memory}"
        return Step(StepName.ADVERTISED, FAILED, why)
    if told is None:
        return Step(StepName.ADVERTISED, SKIPPED, f"{policy.resource} is not offered and no controller speaks of it")
    state = SKIPPED if told.reason in _BY_DECISION else FAILED
    return Step(StepName.ADVERTISED, state, f"{policy.resource} is not offered: {told.reason}, {told.message}")


def _gpus(count: Said) -> str:
    return "1 GPU" if count.number == 1 else f"{count.number} GPUs"
