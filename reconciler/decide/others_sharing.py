"""Is the sharing of this node's GPUs in the hands of others, or is one of them at work on it?"""

from reconciler.decide import standing
from reconciler.decide.verdict import Verdict
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.reasons import Reason

BOTTLEROCKET_SETTING = "settings.kubelet-device-plugins.nvidia.time-slicing.replicas"


def vm_workload(node: NodeView, memory: Verdict) -> str:
    """Why no container gets these GPUs; empty where they do."""
    if standing.vm_workload(node) or memory.reason is Reason.VM_WORKLOAD:
        value = node.labels.get(names.OPERATOR_WORKLOAD, "")
        said = f" ({names.OPERATOR_WORKLOAD}={value})" if value else ""
        return f"the GPU Operator gives the GPUs of this node to virtual machines{said}, so there is nothing to share"
    return ""


def busy(node: NodeView) -> str:
    """What the GPU Operator is doing to the node; empty where it is at rest."""
    state = node.labels.get(names.MIG_CONFIG_STATE, "")
    if state and state != "success":
        return (
            f"the GPU Operator's MIG manager is not done with the node ({names.MIG_CONFIG_STATE}={state}); if that"
            " stays, see the log of its pod on this node"
        )
    paused = sorted(
        name
        for name, value in node.labels.items()
        if name.startswith(names.OPERATOR_DEPLOY) and value.startswith("paused-for-")
    )
    if paused:
        return (
            f"the GPU Operator has paused its parts on this node ({paused[0]}={node.labels[paused[0]]}); if that stays,"
            " see the log of its pods"
        )
    return ""


def mig(node: NodeView, memory: Verdict) -> str:
    """How it shows that MIG is on; empty where it does not.

    GFD's label mig.strategy alone says nothing: the operator sets `single` on GPUs that know no MIG, too. The product's
    name does: GFD appends `-MIG-<profile>`, or `-MIG-INVALID`.
    """
    product = node.labels.get(names.GFD_PRODUCT, "")
    if "-MIG-" in product:
        return f"MIG is on ({names.GFD_PRODUCT}={product}): its devices are whole GPUs to pods, and are not sliced here"
    if memory.reason is Reason.MIG:
        return "MIG is on: its devices have resources of their own, and are not sliced here"
    return ""


def host_plugin(node: NodeView) -> str:
    """Why the label has no effect on this node; empty where it has."""
    if node.labels.get(names.EKS_COMPUTE_TYPE) == "auto":
        return (
            "EKS Auto Mode runs the device plugin as a part of the host, where the config label has no effect: take the"
            " node out of the rule"
        )
    if node.os_image.startswith("Bottlerocket"):
        return (
            "Bottlerocket runs the device plugin as a part of the host, where the config label has no effect: set"
            f" {BOTTLEROCKET_SETTING} in the node's user data"
        )
    return ""
