"""What should be done, and why? The only thing a decision returns, and what the world answers to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import Condition, InstanceType, NodeKey, Taint
from reconciler.model.reasons import ClaimReason, Reason, SharingReason
from reconciler.model.verification import VerifyReason
from reconciler.model.workload import PodRef


@dataclass(frozen=True, slots=True)
class Advertise:
    """One PATCH of nodes/status: resources, labels, annotation and condition together, so nothing is half done.

    Both decisions speak through it, that on memory and that on sharing, each with names of its own.

    None as a value removes the key. Resources go to capacity and allocatable alike, in base units.
    """

    node: NodeKey
    resources: Mapping[str, int | None] = field(default_factory=dict)
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    condition: Condition | None = None
    drop_condition: str = ""
    """The type of a condition to remove; empty: none."""
    second_condition: Condition | None = None
    """Where both decisions have something to say, they say it in one patch."""


@dataclass(frozen=True, slots=True)
class ClearTaint:
    """One PATCH of nodes: the taint list without `key`. A list is written whole, hence the version."""

    node: NodeKey
    key: str
    keep: tuple[Taint, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class SetTaint:
    """One PATCH of nodes: the taint list with `taint` in the place of one of the same key, or after `keep`."""

    node: NodeKey
    taint: Taint
    keep: tuple[Taint, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class RestartPlugin:
    """One DELETE of the device plugin's pod: its DaemonSet makes another. The UID guards against a namesake."""

    node: NodeKey
    pod: PodRef


@dataclass(frozen=True, slots=True)
class RunProbe:
    """One POST of a probe Job, named after node UID, boot and `serial`: a repeat is a conflict, no second Job.

    `serial` counts the tries within a boot that a final verdict ended.
    """

    node: NodeKey
    boot_id: str
    instance_type: InstanceType | None
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Learn:
    """One compare-and-swap of the catalog ConfigMap."""

    figure: LearnedFigure


@dataclass(frozen=True, slots=True)
class Announce:
    """One Kubernetes Event on the node; the same reason and text within an hour is the same Event."""

    node: NodeKey
    reason: Reason | SharingReason | ClaimReason | VerifyReason
    message: str
    warning: bool = False


Action = Advertise | ClearTaint | SetTaint | RestartPlugin | RunProbe | Learn | Announce


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now and why; nothing to do is a plan too."""

    reason: Reason
    because: str
    actions: tuple[Action, ...] = ()
    revisit: timedelta | None = None
    """Look again after this time, when no event is expected to tell."""


@dataclass(frozen=True, slots=True)
class Done:
    """The action holds, by this call or since earlier."""

    version: str = field(default="", compare=False)
    """Of the node, after a patch of it; empty: no node was patched, or the answer does not tell."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The object is gone or has been replaced by a namesake: nothing is left to do."""

    why: str


Outcome = Done | Lost
