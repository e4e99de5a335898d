"""Before anything is asked of the plugin: is it time, is there a rule, are the GPUs in the hands of others?"""

from dataclasses import replace

from reconciler.model import names
from reconciler.model.node import Taint
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.sharing import (
    Exclusive,
)
from tests.decide.slicing_situation import (
    ALONE,
    GPU,
    NAMED,
    NOTHING,
    SHARED,
    STARTUP,
    Row,
    facts,
    fenced,
    label,
    ours,
    said,
    sliced,
    verdict,
)

DISRUPTED = (Taint(names.KARPENTER_DISRUPTED_TAINT, "NoSchedule"),)
BOTTLEROCKET = "Bottlerocket OS 1.40.0 (aws-k8s-1.33-nvidia)"
AUTO = {names.EKS_COMPUTE_TYPE: "auto"}
MIG_SINGLE = {names.GFD_PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}
BUSY = {names.MIG_CONFIG_STATE: "pending"}
PAUSED = {names.OPERATOR_DEPLOY + "device-plugin": "paused-for-mig-change"}

NOT_ITS_TIME = [
    Row(
        "a node that Karpenter is emptying",
        facts(label("ts-4"), taints=DISRUPTED, record=ours(), said=sliced()),
        SharingReason.NOT_READY,
        "Karpenter is emptying",
        NOTHING,
    ),
    Row(
        "a node that is being deleted",
        facts(memory=verdict(Reason.DELETING, None)),
        SharingReason.NOT_READY,
        "it is Deleting",
        NOTHING,
    ),
    Row(
        "a node that Karpenter has not registered keeps even a fence of ours",
        facts(memory=verdict(Reason.NOT_READY, None), taints=fenced()),
        SharingReason.NOT_READY,
        "",
        NOTHING,
    ),
    Row(
        "a node whose type is being asked for",
        facts(memory=verdict(Reason.AWAITING_TYPE, None)),
        SharingReason.NOT_READY,
        "",
        NOTHING,
    ),
    Row(
        "a node of which nobody knows what it has keeps what it says",
        facts(label("ts-4"), memory=verdict(Reason.UNKNOWN_TYPE, None, 0), record=ours(), said=sliced()),
        SharingReason.NOT_READY,
        "",
        NOTHING,
    ),
    Row(
        "a node without instance type",
        facts(memory=verdict(Reason.NO_INSTANCE_TYPE, None, 0)),
        SharingReason.NOT_READY,
        "",
        NOTHING,
    ),
    Row(
        "a node without a GPU",
        facts(memory=verdict(Reason.NO_GPU, None, 0)),
        SharingReason.NOT_READY,
        "",
        NOTHING,
    ),
    Row(
        "a node without a GPU of NVIDIA's that was ours once is left clean",
        facts(memory=verdict(Reason.NOT_NVIDIA, None, 1), record=ours(), said=sliced()),
        SharingReason.NOT_READY,
    ),
]

NO_RULE = [
    Row("a node without any rule", facts(), SharingReason.NO_RULE, "no rule", NOTHING, policy=SlicingPolicy()),
    Row(
        "a node that no rule is for",
        facts(),
        SharingReason.NO_RULE,
        "no rule",
        NOTHING,
        policy=SlicingPolicy((SlicingRule(Exclusive(), node_pools=frozenset({"prod"})),)),
    ),
    Row(
        "a node whose rule went: our condition goes, our label stays and that is said",
        facts(label("ts-4"), {GPU: 4}, record=ours(restarts=1), said=sliced()),
        SharingReason.NO_RULE,
        "the label nvidia.com/device-plugin.config=ts-4 that we set stays",
        policy=SlicingPolicy(),
    ),
    Row(
        "a node whose rule went and whose label is another's",
        facts(label("theirs"), record=ours(), said=said(SharingReason.REVERTED)),
        SharingReason.NO_RULE,
        "no rule for sharing is for this node",
        policy=SlicingPolicy(),
    ),
    Row(
        "a node whose rule went opens its fence in a pass of its own",
        facts(taints=fenced()),
        SharingReason.NO_RULE,
        "",
        ("ClearTaint",),
        policy=SlicingPolicy(),
    ),
]

LEFT_TO_OTHERS = [
    Row(
        "virtual machines by the GPU Operator's label",
        facts({names.OPERATOR_WORKLOAD: "vm-passthrough"}, taints=STARTUP),
        SharingReason.VM_WORKLOAD,
        "nvidia.com/gpu.workload.config=vm-passthrough",
    ),
    Row(
        "virtual machines as the memory's decision found them",
        facts(memory=verdict(Reason.VM_WORKLOAD, None)),
        SharingReason.VM_WORKLOAD,
        "virtual machines",
    ),
    Row(
        "containers are no virtual machines",
        facts({names.OPERATOR_WORKLOAD: "container", **label("ts-4")}, {GPU: 4}),
        SharingReason.SLICED,
    ),
    Row(
        "MIG as the memory's decision found it",
        facts(memory=verdict(Reason.MIG, None), taints=STARTUP),
        SharingReason.MIG,
        "MIG is on",
    ),
    Row("MIG single by GFD's product name", facts(MIG_SINGLE), SharingReason.MIG, "MIG-1g.5gb"),
    Row(
        "a strategy alone is no MIG: the operator sets it on every node",
        facts({"nvidia.com/mig.strategy": "single", **label("ts-4")}, {GPU: 4}),
        SharingReason.SLICED,
    ),
    Row(
        "Bottlerocket's plugin is part of the host",
        facts(node=replace(facts().node, os_image=BOTTLEROCKET, taints=STARTUP)),
        SharingReason.HOST_PLUGIN,
        "settings.kubelet-device-plugins.nvidia.time-slicing.replicas",
        profile="ts-4",
    ),
    Row(
        "Bottlerocket that shares as wanted, under the name it gives slices",
        facts(node=replace(facts(offers={SHARED: 4}).node, os_image=BOTTLEROCKET)),
        SharingReason.SLICED,
        "offers 4 nvidia.com/gpu.shared",
        expected=4,
    ),
    Row(
        "Bottlerocket that is exclusive as wanted",
        facts(node=replace(facts().node, os_image=BOTTLEROCKET)),
        SharingReason.EXCLUSIVE,
        policy=ALONE,
        expected=1,
    ),
    Row(
        "Bottlerocket and a profile that only a ConfigMap could tell",
        facts(node=replace(facts().node, os_image=BOTTLEROCKET), plugin=None),
        SharingReason.HOST_PLUGIN,
        "Bottlerocket",
        policy=NAMED,
    ),
    Row("EKS Auto Mode's plugin is part of the host", facts(AUTO), SharingReason.HOST_PLUGIN, "EKS Auto Mode"),
    Row(
        "the MIG manager at work",
        facts(BUSY, taints=STARTUP),
        SharingReason.OPERATOR_BUSY,
        "nvidia.com/mig.config.state=pending",
        holds="until the GPU Operator is done",
    ),
    Row(
        "the MIG manager at work is told before the MIG that it makes",
        facts(BUSY, memory=verdict(Reason.MIG, None)),
        SharingReason.OPERATOR_BUSY,
        holds="until the GPU Operator is done",
    ),
    Row(
        "the GPU Operator's parts paused",
        facts(PAUSED),
        SharingReason.OPERATOR_BUSY,
        "nvidia.com/gpu.deploy.device-plugin=paused-for-mig-change",
        holds="until the GPU Operator is done",
    ),
    Row(
        "a MIG manager that is done, and parts that are there",
        facts(
            {
                names.MIG_CONFIG_STATE: "success",
                names.OPERATOR_DEPLOY + "device-plugin": "true",
                **label("ts-4"),
            },
            {GPU: 4},
        ),
        SharingReason.SLICED,
    ),
]

ROWS = [*NOT_ITS_TIME, *NO_RULE, *LEFT_TO_OTHERS]
