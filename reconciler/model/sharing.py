"""How are a node's GPUs shared? Profiles, what a rule asks for, and what the plugin's ConfigMap really offers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

EXCLUSIVE = "exclusive"
"""The profile without a `sharing` block: one pod on one GPU. `replicas: 1` would be refused by the plugin."""

LEAST_REPLICAS = 2
MOST_REPLICAS = 16
"""Of the profiles that we ship; a person's own ConfigMap may hold others."""


def profile_name(replicas: int) -> str:
    """`exclusive` or `ts-4`: the count is in the name, since edits under one name are not picked up by the plugin."""
    return EXCLUSIVE if replicas < LEAST_REPLICAS else f"ts-{replicas}"


@dataclass(frozen=True, slots=True)
class Exclusive:
    """One pod on one GPU."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Each GPU shows so many times."""

    count: int


@dataclass(frozen=True, slots=True)
class MemoryPerSlice:
    """As many slices as fit into a GPU's advertised memory, between 2 and `most`; below 2 the GPU is exclusive."""

    mib: int
    most: int = MOST_REPLICAS


@dataclass(frozen=True, slots=True)
class Named:
    """A key of the plugin's ConfigMap as it stands, whatever count it holds."""

    profile: str


Wanted = Exclusive | Replicas | MemoryPerSlice | Named


@dataclass(frozen=True, slots=True)
class Profile:
    """One key of the device plugin's ConfigMap, as far as it matters for counts."""

    replicas: int = 1
    """How often each GPU shows; 1: not shared."""
    renamed: bool = False
    """`renameByDefault`: slices are `nvidia.com/gpu.shared`."""
    mps: bool = False


@dataclass(frozen=True, slots=True)
class UnusableProfile:
    """A key whose content the plugin would refuse; `why` names the field."""

    why: str


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """The device plugin's ConfigMap."""

    profiles: Mapping[str, Profile | UnusableProfile] = field(default_factory=dict)
    changed: datetime | None = None
    """When somebody last changed it; a pod that was mounted before may not show that yet."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody else who wrote the label, and how often since a time: the evidence that stops a fight."""

    who: str
    """The field manager, or empty where the server did not say."""
    count: int
    since: datetime
