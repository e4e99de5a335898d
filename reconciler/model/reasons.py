"""Which answers can a node get? The closed lists of reasons, documented in docs/reasons.md.

They are the reasons of the conditions `GPUMemoryReady` and `GPUSharingReady` and of `gpu-reconciler explain`; those on
NodeClaims are reasons of Events only.
"""

from enum import StrEnum


class Reason(StrEnum):
    # Advertised, condition True
    VERIFIED = "Verified"
    """NVML's figure is advertised and EC2 agrees."""
    MISMATCH = "Mismatch"
    """NVML's figure is advertised and EC2 disagrees by more than the tolerance."""
    LEARNED = "Learned"
    """The figure that probes found on other nodes of the type, or on this node before it booted."""
    PROVISIONAL = "Provisional"
    """A built-in or EC2 figure less a margin, until the probe has answered."""
    UNVERIFIED = "Unverified"
    """The probe gave a final verdict without figures, or is switched off; the provisional figure stays."""
    GPU_LOST = "GPULost"
    """NVML sees fewer GPUs than EC2 promises."""
    OVERRIDDEN = "Overridden"
    """A person's figure is advertised."""
    WOULD_OVERCOMMIT = "WouldOvercommit"
    """The true figure is smaller than what running pods hold; it is lowered when it fits."""

    # Not advertised, condition False or none
    NOT_READY = "NotReady"
    """The node itself is not there yet (Karpenter has not registered it)."""
    AWAITING_TYPE = "AwaitingType"
    """The instance type is being looked up."""
    UNKNOWN_TYPE = "UnknownType"
    """Neither EC2 nor the built-in table knows the type, and no probe answered."""
    NO_INSTANCE_TYPE = "NoInstanceType"
    """The node has no instance-type label."""
    VM_WORKLOAD = "VMWorkload"
    """The GPU Operator gives the node's GPUs to virtual machines."""
    NO_GPU = "NoGPU"
    NOT_NVIDIA = "NotNVIDIA"
    NO_NVML = "NoNVML"
    """The probe's final verdict: the GPU cannot be used on this node (no driver, lost GPU)."""
    MIG = "MIG"
    MULTI_GPU = "MultiGPU"
    FOREIGN_VALUE = "ForeignValue"
    """Somebody else advertises the resource and the policy leaves it to them."""
    CONTESTED = "Contested"
    """Somebody keeps overwriting the value; we stopped."""
    NOTHING_LEFT = "NothingLeft"
    """The margins take all of the figure."""
    DELETING = "Deleting"


class SharingReason(StrEnum):
    # The device plugin offers what the profile says, condition True
    EXCLUSIVE = "Exclusive"
    """One pod a GPU, as wanted."""
    SLICED = "Sliced"
    """Each GPU shows as often as wanted."""

    # It goes on by itself, condition False
    AWAITING_MEMORY = "AwaitingMemory"
    """The rule counts slices by memory, or the number of GPUs is not known yet."""
    AWAITING_PROFILE = "AwaitingProfile"
    """The ConfigMap changed so lately that the plugin's pod may not have it mounted."""
    SWITCHING = "Switching"
    """The label is set and the plugin has time to follow."""
    RETURNING = "Returning"
    """The plugin offered the right number and does not now; it has time to come back (a restart, a reboot)."""
    IN_USE = "InUse"
    """Another profile is wanted, and pods hold GPUs: it waits until they end."""
    FENCED = "Fenced"
    """The same, and no new pods are let in until the fence's deadline."""
    OPERATOR_BUSY = "OperatorBusy"
    """The GPU Operator is changing the node (mig.config.state, gpu.deploy.*)."""
    NOT_NOW = "NotNow"
    """Another profile is wanted, and the policy switches at join only."""

    # The plugin does not follow, condition False
    NO_PLUGIN_POD = "NoPluginPod"
    NO_CONFIG_MANAGER = "NoConfigManager"
    PROFILE_MISSING = "ProfileMissing"
    """The ConfigMap, or its key of that name, does not exist."""
    PROFILE_INVALID = "ProfileInvalid"
    """The key is there and says something else than its name, or nothing that the plugin would take."""
    CONFIG_MANAGER_FAILING = "ConfigManagerFailing"
    PLUGIN_FAILING = "PluginFailing"
    NO_GPUS_OFFERED = "NoGPUsOffered"
    """The plugin's pod is ready and offers nothing (NVIDIA/k8s-device-plugin 1645)."""
    WRONG_COUNT = "WrongCount"
    """The plugin offers another number than the profile makes of the GPUs."""

    # Left to others, condition False
    HOST_PLUGIN = "HostPlugin"
    """Bottlerocket or EKS Auto Mode: the plugin is part of the host and the label has no effect."""
    MIG = "MIG"
    MPS = "MPS"
    VM_WORKLOAD = "VMWorkload"
    FOREIGN_LABEL = "ForeignLabel"
    """Somebody else set the label to another profile (a NodePool's template, a person)."""
    REVERTED = "Reverted"
    """Somebody keeps writing over our label; we stopped."""

    # No condition
    NO_RULE = "NoRule"
    """No rule is for the node: it is left alone."""
    NOT_READY = "NotReady"
    """Not registered with Karpenter yet, being disrupted or deleted, or without a GPU of NVIDIA's."""


class ClaimReason(StrEnum):
    """What Karpenter says of the node's NodeClaim, on account of something that is ours to bring."""

    NOT_INITIALIZED = "NodeClaimNotInitialized"
    """Karpenter waits for a resource, or for the startup taint to go; until then it never consolidates the node."""
    INCONSISTENT = "NodeClaimInconsistent"
    """The node has less of a resource than Karpenter planned with (its condition ConsistentStateFound)."""
