"""Which machines can Karpenter's pretended cloud sell, and what does each look like once it runs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.controlplane.api import Json
from tests.controlplane.karpenter_objects import CAPACITY_TYPE, REGION, ZONE
from tests.controlplane.kubelet import Machine


@dataclass(frozen=True, slots=True)
class Offering:
    """One way to buy a type; `price` in dollars an hour decides which way Karpenter takes."""

    capacity_type: str
    zone: str
    price: float
    available: bool = True


SPOT_AND_ON_DEMAND = (
    Offering("spot", "eu-west-1a", 0.2),
    Offering("spot", "eu-west-1b", 0.21),
    Offering("on-demand", "eu-west-1a", 0.6),
    Offering("on-demand", "eu-west-1b", 0.61),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A type as the cloud sells it; `devices` is what device plugins will advertise, and what Karpenter knows of."""

    name: str = "g4dn.xlarge"
    cpu: int = 4
    memory: str = "16Gi"
    max_pods: int = 58
    devices: Mapping[str, str] = field(default_factory=lambda: {"nvidia.com/gpu": "1"})
    offerings: Sequence[Offering] = SPOT_AND_ON_DEMAND

    def machine(self) -> Machine:
        """The machine that comes for it."""
        return Machine(cpu=self.cpu, memory=self.memory, max_pods=self.max_pods, devices=self.devices)

    def for_kwok(self) -> Json:
        """The type in the file that INSTANCE_TYPES_FILE_PATH names."""
        sizes = {"cpu": str(self.cpu), "memory": self.memory, "pods": str(self.max_pods)}
        return {
            "name": self.name,
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {**sizes, "ephemeral-storage": "20Gi", **self.devices},
            "offerings": [_offering(one) for one in self.offerings],
        }


G4DN = InstanceType()
"""One T4, the type that most tests need."""

G5_12 = InstanceType(
    name="g5.12xlarge",
    cpu=48,
    memory="192Gi",
    max_pods=110,
    devices={"nvidia.com/gpu": "4"},
    offerings=(Offering("spot", "eu-west-1a", 2.0), Offering("on-demand", "eu-west-1a", 5.7)),
)
"""Four A10G, dearer than any `G4DN`."""


def _offering(offering: Offering) -> Json:
    labels = {CAPACITY_TYPE: offering.capacity_type, ZONE: offering.zone, REGION: offering.zone[:-1]}
    return {
        "Price": offering.price,
        "Available": offering.available,
        "Requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()],
    }
