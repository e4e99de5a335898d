"""What is a node, as far as decisions look at it?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

from reconciler.model import names
from reconciler.model.record import CapacityRecord, UnreadableRecord
from reconciler.model.sharing_record import SharingRecord
from reconciler.model.verification_record import VerificationRecord

NodeName = NewType("NodeName", str)
InstanceType = NewType("InstanceType", str)

Resources = Mapping[str, int]
"""Resource name to amount: millicores for cpu, base units (bytes, devices) for all others."""


@dataclass(frozen=True, slots=True)
class NodeKey:
    """One node and no namesake: names are reused addresses, so every write carries the UID."""

    name: NodeName
    uid: str


class CapacityType(StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint with all its fields: the list is written whole, so nothing of a foreign taint may be lost."""

    key: str
    effect: str
    value: str | None = None
    time_added: str | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One node condition. `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime


@dataclass(frozen=True, slots=True)
class NodeView:
    """The parts of a Node that decisions look at. Equal views are no news, so versions and heartbeats do not count."""

    key: NodeKey
    instance_type: InstanceType | None
    """None: the node carries no instance-type label."""
    boot_id: str
    ready: bool
    created: datetime
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Resources
    allocatable: Resources
    condition: Condition | None = None
    """Our own condition as it stands."""
    record: CapacityRecord | UnreadableRecord | None = None
    """Our own annotation as it stands."""
    sharing_condition: Condition | None = None
    sharing_record: SharingRecord | UnreadableRecord | None = None
    verified: VerificationRecord | UnreadableRecord | None = None
    profile_writer: str = ""
    """The field manager that last wrote the label names.PLUGIN_CONFIG; empty without label, or where nobody says."""
    provider_id: str = ""
    os_image: str = ""
    unschedulable: bool = False
    deleting: bool = False
    resource_version: str = field(default="", compare=False)

    @property
    def name(self) -> NodeName:
        return self.key.name

    @property
    def capacity_type(self) -> CapacityType:
        """Karpenter's label before EKS's; the values are those of their documentation."""
        text = self.labels.get(names.KARPENTER_CAPACITY_TYPE) or self.labels.get(names.EKS_CAPACITY_TYPE, "")
        match text.lower().replace("_", "-"):
            case "spot":
                return CapacityType.SPOT
            case "on-demand":
                return CapacityType.ON_DEMAND
            case "reserved" | "capacity-block":
                return CapacityType.RESERVED
            case _:
                return CapacityType.UNKNOWN

    @property
    def disrupted(self) -> bool:
        """Karpenter is emptying it."""
        return any(taint.key == names.KARPENTER_DISRUPTED_TAINT for taint in self.taints)

    @property
    def has_startup_taint(self) -> bool:
        return any(taint.key == names.STARTUP_TAINT for taint in self.taints)


@dataclass(frozen=True, slots=True)
class NodeClaimView:
    """A Karpenter NodeClaim, as a promise of a node of some type."""

    name: str
    instance_type: InstanceType | None
    node: NodeName | None
    initialized: Condition | None = None
    """Karpenter's `Initialized`: not True while a resource that was asked for is missing on the node."""
    consistent: Condition | None = None
    """Karpenter's `ConsistentStateFound`: False when the node has less than 90 % of what `capacity` says."""
    requests: Resources = field(default_factory=dict)
    """What the pods it was made for ask for together."""
    capacity: Resources = field(default_factory=dict)
    """What Karpenter expects of the node, overlays included; empty before launch."""
