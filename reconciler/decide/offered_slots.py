"""What should the device plugin offer by its profile, and what does it?"""

from dataclasses import dataclass

from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.policy import SlicingPolicy
from reconciler.model.sharing import Profile


@dataclass(frozen=True, slots=True)
class OfferedSlots:
    name: str
    """The resource that the profile's slots have."""
    gpus: int
    expected: int
    offered: int
    other_name: str
    other: int
    """Offered under the name that the profile does not use."""

    @property
    def right(self) -> bool:
        return self.offered == self.expected and self.other == 0

    @property
    def slices(self) -> int:
        """Of each GPU."""
        return self.expected // max(1, self.gpus)

    @property
    def wanted(self) -> str:
        """`4 nvidia.com/gpu, 1 GPU in 4 slices`."""
        whole = "1 GPU" if self.gpus == 1 else f"{self.gpus} GPUs"
        each = "" if self.slices <= 1 else f" in {self.slices} slices" + ("" if self.gpus == 1 else " each")
        return f"{self.expected} {self.name}, {whole}{each}"


def of(node: NodeView, profile: Profile, gpus: int, policy: SlicingPolicy) -> OfferedSlots:
    """Only allocatable counts: capacity stays for minutes when the plugin has gone."""
    plain = names.GPU_RESOURCE if policy.gpu_resource == names.GPU_SHARED_RESOURCE else policy.gpu_resource
    name, other = plain, names.GPU_SHARED_RESOURCE
    if profile.renamed:
        name, other = other, name
    there = node.allocatable
    return OfferedSlots(name, gpus, gpus * profile.replicas, there.get(name, 0), other, there.get(other, 0))
