"""Which answers can a node get? The closed list of reasons, documented in docs/reasons.md.

They are the reasons of the condition `GPUMemoryReady` and of `gpu-reconciler explain`.
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
