"""What does EC2 promise about an instance type, and what did NVML find on one?"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.model.node import InstanceType


class Vendor(StrEnum):
    NVIDIA = "nvidia"
    AMD = "amd"
    HABANA = "habana"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class BuiltinFigure:
    """A row of the built-in table; `source` says where the figures come from."""

    instance_type: InstanceType
    model: str
    vendor: Vendor
    count: int
    ec2_mib: int | None
    nvml_mib: int | None
    source: str


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """EC2's promise: GPUs of one kind. All memory is MiB per GPU."""

    instance_type: InstanceType
    model: str
    vendor: Vendor
    count: int
    """LogicalGpuCount where EC2 gives one, else Count; 0 means that EC2 does not say."""
    ec2_mib: int | None
    """What DescribeInstanceTypes answered; None when EC2 could not be asked."""
    builtin: BuiltinFigure | None = None
    """The built-in table's row for the type, or for a type with the same GPU (then its count does not apply)."""
    partition: float = 1.0
    """Share of a physical GPU (g6f: 0.125)."""
    not_asked_because: str = ""
    """Why EC2's answer is missing, in words for the node's owner; empty when EC2 answered."""

    @property
    def fractional(self) -> bool:
        return self.partition < 1


@dataclass(frozen=True, slots=True)
class NoGpu:
    """The type has no GPU. `accelerator` names what it has instead (Neuron, FPGA), or is empty."""

    instance_type: InstanceType
    accelerator: str = ""
    not_asked_because: str = ""
    """Why this is a guess from the type's name and not EC2's answer; empty when EC2 answered."""


@dataclass(frozen=True, slots=True)
class SpecUnknown:
    """Neither EC2 nor the built-in table can say; `why` is a sentence with what to do."""

    instance_type: InstanceType
    why: str


SpecAnswer = GpuSpec | NoGpu | SpecUnknown


@dataclass(frozen=True, slots=True)
class LearnedFigure:
    """What probes found on nodes of a type, so that the next such node is right at once. MiB per GPU."""

    instance_type: InstanceType
    model: str
    """NVML's product name."""
    count: int
    total_mib: int
    reserved_mib: int
    driver: str
    at: datetime
