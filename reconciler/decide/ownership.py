"""What of the resources on a node is ours, and what is somebody else's? Ownership is in our record, nowhere else."""

from dataclasses import dataclass, replace

from reconciler.model.node import NodeView
from reconciler.model.policy import CapacityPolicy, ExistingValue
from reconciler.model.quantity import MIB
from reconciler.model.record import CapacityRecord, Source, UnreadableRecord

_NEVER_OURS = ("nvidia.com/", "amd.com/", "aws.amazon.com/", "habana.ai/", "vpc.amazonaws.com/")
"""Domains of device plugins. A record that names one of theirs was edited, and is not believed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The amounts of one resource as they stand on the node, in base units; None: the key is absent."""

    capacity: int | None
    allocatable: int | None

    @property
    def amounts(self) -> tuple[int, ...]:
        """What somebody has set. Absent and 0 are the same case: nobody says anything."""
        return tuple(amount for amount in (self.capacity, self.allocatable) if amount)

    def equals(self, amount: int) -> bool:
        return self.capacity == amount and self.allocatable == amount

    @property
    def absent(self) -> bool:
        return self.capacity is None and self.allocatable is None


def standing(node: NodeView, resource: str) -> Standing:
    """What the node carries under this name."""
    return Standing(node.capacity.get(resource), node.allocatable.get(resource))


def remembered(node: NodeView, policy: CapacityPolicy) -> CapacityRecord | None:
    """The record, or what must be assumed where it cannot be read.

    The annotation's name is ours, so we have been here: the value is taken for ours, or it would stay there for ever.
    Only where values of others must be left alone, what cannot be proved to be ours is taken for theirs.
    """
    match node.record:
        case None:
            return None
        case UnreadableRecord():
            there = standing(node, policy.resource).amounts
            ours = bool(there) and policy.existing_value is ExistingValue.TAKE
            return CapacityRecord(policy.resource, max(1, there[0] // MIB) if ours else None, Source.NONE)
        case CapacityRecord() as record:
            if record.advertised_mib is not None and (record.advertised_mib < 1 or not _may_be_ours(record.resource)):
                return replace(record, advertised_mib=None)
            return record


def owned_amount(record: CapacityRecord | None, resource: str) -> int | None:
    """What we last set under this name, in bytes; None: the name is not ours on this node."""
    if record is None or record.advertised_mib is None or record.resource != resource:
        return None
    return record.advertised_mib * MIB


def removable(node: NodeView, record: CapacityRecord | None, resource: str) -> bool:
    """Whether the key is there and ours: it holds what we set, or the 0 that a kubelet made of it."""
    ours = owned_amount(record, resource)
    there = standing(node, resource)
    if ours is None or there.absent:
        return False
    if isinstance(node.record, UnreadableRecord):
        return True
    # The kubelet copies capacity to allocatable, so capacity tells who spoke last.
    decisive = there.capacity if there.capacity is not None else there.allocatable
    return decisive in (0, ours)


def _may_be_ours(resource: str) -> bool:
    return "/" in resource and not resource.startswith(_NEVER_OURS) and "kubernetes.io/" not in resource
