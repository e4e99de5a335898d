"""Which knobs may decisions see? Plain values; settings/ makes them, with bounds checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from reconciler.model import names
from reconciler.model.node import CapacityType, InstanceType
from reconciler.model.sharing import Wanted


class MultiGpu(StrEnum):
    """What to advertise on a node with several GPUs. A node-wide sum admits pods that fit no single GPU."""

    SKIP = "skip"
    SUM = "sum"
    LARGEST = "largest"
    """Advertise nothing, but label the node with its largest single GPU."""


class ExistingValue(StrEnum):
    """What to do where somebody else already advertises the memory resource."""

    TAKE = "take"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Override:
    """A person's word on one instance type, stronger than every source."""

    mib_per_gpu: int | None = None
    """Advertise this, less no margin, whatever EC2 and NVML say; still never more than NVML found."""
    margin_mib: int | None = None
    margin_percent: float | None = None


@dataclass(frozen=True, slots=True)
class CapacityPolicy:
    resource: str = names.MEMORY_RESOURCE
    gpu_resource: str = names.GPU_RESOURCE
    margin_mib: int = 0
    margin_percent: float = 0.0
    """Taken off NVML's figure per GPU, the larger of the two.

    The kubelet copies capacity to allocatable, so a margin must be in capacity itself.
    """
    provisional_margin_mib: int = 512
    provisional_margin_percent: float = 5.0
    """Taken off a figure that NVML has not confirmed, the larger of the two: what drivers are known to reserve."""
    tolerance_percent: float = 10.0
    """EC2 and NVML agree within this; every true pair does, and all but one of the known API errors do not."""
    multi_gpu: MultiGpu = MultiGpu.SKIP
    existing_value: ExistingValue = ExistingValue.TAKE
    overrides: Mapping[InstanceType, Override] = field(default_factory=dict)
    probe: bool = True
    """False: no Job is run; figures stay learned, built-in or EC2's."""
    probe_poll: timedelta = timedelta(seconds=30)
    """How soon to look again at a running probe: only a safety net, its end is an event."""
    probe_retry: timedelta = timedelta(hours=1)
    """The longest wait for another try within the same boot, after a probe that ended without figures."""
    contest_limit: int = 5
    contest_window: timedelta = timedelta(minutes=10)
    """After this many overwritten values within this time, stop writing and say so."""


class Later(StrEnum):
    """When may a node's profile change after its join? Never by surprise: always with no pod on its GPUs."""

    IDLE = "idle"
    """While no pod holds a GPU, behind a short fence."""
    FENCE = "fence"
    """A fence keeps new pods away until those that hold GPUs have ended by themselves, up to its deadline."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class SlicingRule:
    """Which nodes get which sharing. Every selector that is given must hold; one without any takes every GPU node."""

    wanted: Wanted
    name: str = ""
    """For sentences; its place in the list where people gave none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    instance_types: frozenset[InstanceType] = frozenset()
    families: frozenset[str] = frozenset()
    """`g5` of `g5.xlarge`."""
    gpu_models: frozenset[str] = frozenset()
    """As in our label gpu-model, without regard to case: `A10G`."""
    capacity_types: frozenset[CapacityType] = frozenset()
    node_pools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SlicingPolicy:
    rules: tuple[SlicingRule, ...] = ()
    """The first that fits counts. Without any rule nothing about sharing is read or written."""
    gpu_resource: str = names.GPU_RESOURCE
    config_map: str = "nvidia-device-plugin/gpu-profiles"
    """The plugin's ConfigMap as namespace/name, for sentences."""
    later: Later = Later.IDLE
    fence_for: timedelta = timedelta(minutes=30)
    mounted_after: timedelta = timedelta(minutes=2)
    """So long a kubelet may take until a mounted ConfigMap shows a change (its sync period and its cache's life)."""
    follow_within: timedelta = timedelta(minutes=3)
    """So long the plugin may take to follow before the node says that it did not."""
    contest_limit: int = 2
    contest_window: timedelta = timedelta(minutes=10)
    """After this many reverts within this time, stop writing the label and say who does."""
    restart_plugin: bool = False
    """Whether to delete a plugin pod that is ready and offers nothing."""
    most_restarts: int = 1
    """Of one node's plugin pod, for one switch."""
    remove_stale: bool = False
    """Whether to remove the 0 that stays under the former name when a profile renames the resource."""
