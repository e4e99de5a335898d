"""How is it spelled? Every label, annotation, resource, taint and condition name, once."""

DOMAIN = "gpu-reconciler.io"

MEMORY_RESOURCE = f"{DOMAIN}/gpu-memory"
"""The memory resource's default name; users of an older set-up may keep theirs (settings: capacity.resource)."""

GPU_RESOURCE = "nvidia.com/gpu"
GPU_SHARED_RESOURCE = "nvidia.com/gpu.shared"
"""The device plugin's name for slices when `renameByDefault` is on (Bottlerocket's default)."""

CONDITION = "GPUMemoryReady"
SHARING_CONDITION = "GPUSharingReady"
STARTUP_TAINT = f"{DOMAIN}/not-ready"
FENCE_TAINT = f"{DOMAIN}/fence"
"""On a node that we keep new pods away from for a while (model/fence.py)."""

RECORD = f"{DOMAIN}/capacity"
"""Node annotation: every figure and its source, and what we own on the node (model/record.py)."""

SHARING_RECORD = f"{DOMAIN}/sharing"
"""Node annotation: which profile is ours, since when, and who wrote over it (model/sharing_record.py)."""

LABEL_MODEL = f"{DOMAIN}/gpu-model"
LABEL_MEMORY_MIB = f"{DOMAIN}/gpu-memory-mib"
"""MiB of the largest single GPU, before margins: pods on multi-GPU nodes can select by it."""
LABEL_COUNT = f"{DOMAIN}/gpu-count"
LABEL_SOURCE = f"{DOMAIN}/gpu-memory-source"
OUR_LABELS = (LABEL_MODEL, LABEL_MEMORY_MIB, LABEL_COUNT, LABEL_SOURCE)

LABEL_PROBE = f"{DOMAIN}/probe"
"""On probe Jobs and their pods; the value is `gpu`."""
ANNOTATION_NODE = f"{DOMAIN}/node"
ANNOTATION_NODE_UID = f"{DOMAIN}/node-uid"
ANNOTATION_BOOT_ID = f"{DOMAIN}/boot-id"

LABEL_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
LABEL_INSTANCE_TYPE_BETA = "beta.kubernetes.io/instance-type"
LABEL_REGION = "topology.kubernetes.io/region"
LABEL_ZONE = "topology.kubernetes.io/zone"
LABEL_OS = "kubernetes.io/os"

KARPENTER_NODEPOOL = "karpenter.sh/nodepool"
KARPENTER_REGISTERED = "karpenter.sh/registered"
KARPENTER_UNREGISTERED_TAINT = "karpenter.sh/unregistered"
KARPENTER_DISRUPTED_TAINT = "karpenter.sh/disrupted"
KARPENTER_CAPACITY_TYPE = "karpenter.sh/capacity-type"
KARPENTER_PROVISIONER = "karpenter.sh/provisioner-name"
"""On nodes of Karpenter before v1beta1, which are never labelled as registered."""
KARPENTER_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer"
KARPENTER_INITIALIZED = "karpenter.sh/initialized"
EKS_CAPACITY_TYPE = "eks.amazonaws.com/capacityType"

PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
"""The label whose value names a key of the device plugin's ConfigMap; its config-manager follows it."""

EKS_COMPUTE_TYPE = "eks.amazonaws.com/compute-type"
"""`auto` on nodes of EKS Auto Mode, where the device plugin is part of the host."""

GFD_COUNT = "nvidia.com/gpu.count"
"""Physical GPUs."""
GFD_PRODUCT = "nvidia.com/gpu.product"
GFD_REPLICAS = "nvidia.com/gpu.replicas"
"""Per GPU: all slots are count times replicas, whatever NVIDIA's documentation says."""
OPERATOR_WORKLOAD = "nvidia.com/gpu.workload.config"
"""The GPU Operator's choice between containers and virtual machines."""
OPERATOR_DEPLOY = "nvidia.com/gpu.deploy."
"""How the labels begin by which the GPU Operator starts and pauses its parts on a node."""

GFD_MEMORY = "nvidia.com/gpu.memory"
"""GPU Feature Discovery's NVML total per GPU in MiB: a second opinion, never written by us."""
GPU_PRESENT = "nvidia.com/gpu.present"
"""Set by the GPU Operator, and by EKS' own node set-up from kubelet 1.35, where an NVIDIA device is on the PCI bus."""
MIG_CONFIG = "nvidia.com/mig.config"
MIG_CONFIG_STATE = "nvidia.com/mig.config.state"
MIG_RESOURCES = "nvidia.com/mig-"
"""How the device plugin's resources of single MIG devices begin (strategy `mixed`)."""
