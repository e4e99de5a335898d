"""What do we tell Karpenter about nodes that are not there yet? NodeOverlays: found, wanted, and what differs."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from reconciler.model import names
from reconciler.model.node import InstanceType, Resources
from reconciler.model.node_pool import Requirement

DEFAULT_WEIGHT = 10
LARGEST_WEIGHT = 10_000
"""Karpenter's own bounds are 1 to 10,000; an overlay without a weight counts as 0."""


class Subject(StrEnum):
    """What an overlay of ours tells of; the value of its label names.LABEL_OVERLAY."""

    MEMORY = "memory"
    GPUS = "gpus"


class OverlayReason(StrEnum):
    """The closed list of what there is to say about overlays (docs/karpenter.md)."""

    # Karpenter does not go by our overlays
    CONFLICT = "OverlayConflict"
    """Karpenter found another overlay of the same weight for one of its types, and applies ours to none of them."""
    REFUSED = "OverlayRefused"
    """Karpenter finds the overlay itself wrong."""
    OUTVOTED = "OverlayOutvoted"
    """Somebody's overlay of a higher weight sets the same resource."""
    GATE_OFF = "OverlaysIgnored"
    """Karpenter never looked at our overlays: its feature gate NodeOverlay is off."""
    NO_KIND = "OverlaysUnknown"
    """The cluster has NodePools and does not know the kind NodeOverlay."""

    # Somebody else's words are left alone
    YIELDED = "OverlayYielded"
    """Somebody's overlay of the same weight sets the resource for a type: ours leaves the type out."""
    NAME_TAKEN = "OverlayNameTaken"
    """An overlay of the name that we want exists and is not ours."""
    OUTVOTES = "OverlayOutvotes"
    """Ours has a higher weight than somebody's that sets the same resource."""

    # Something is left out
    AUTO_MODE = "AutoMode"
    """A NodePool of EKS Auto Mode, whose Karpenter knows no overlays."""
    NOTHING_KNOWN = "NothingToTell"
    """A node of the type would advertise nothing at first."""
    NO_MEMORY = "NoMemoryOnNodes"
    """The NodePool's template gives its GPUs to MIG devices or virtual machines."""
    SLICES_UNKNOWN = "SlicesUnknown"
    """How many slices a node will offer cannot be told before it is there."""

    # For the record
    LENIENT = "RequirementUnread"
    """A requirement that cannot be judged here counts as met; an overlay for a type that never comes does no harm."""


QUIET = frozenset({OverlayReason.OUTVOTES, OverlayReason.LENIENT, OverlayReason.NOTHING_KNOWN, OverlayReason.AUTO_MODE})
"""Nothing that a person would have to look into."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say. It holds while nothing changes, so it names no durations."""

    reason: OverlayReason
    about: str
    """Name of the NodePool, instance type or NodeOverlay; empty for all of it."""
    sentence: str

    @property
    def warning(self) -> bool:
        """Whether a person should look."""
        return self.reason not in QUIET


@dataclass(frozen=True, slots=True)
class Wanted:
    """An overlay as it should stand. Amounts are in base units."""

    name: str
    subject: Subject
    types: tuple[InstanceType, ...]
    capacity: Resources
    weight: int
    pool: str = ""
    """Empty: for whichever NodePool launches the types."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What its spec says of where it applies."""
        types = Requirement(names.LABEL_INSTANCE_TYPE, "In", tuple(self.types))
        return (types, Requirement(names.KARPENTER_NODEPOOL, "In", (self.pool,))) if self.pool else (types,)


@dataclass(frozen=True, slots=True)
class OverlayView:
    """A NodeOverlay as it stands, anybody's."""

    name: str
    uid: str
    requirements: tuple[Requirement, ...] = ()
    capacity: Resources = field(default_factory=dict)
    weight: int = 0
    subject: Subject | None = None
    """None: it does not carry our label, so it is not ours."""
    changed: datetime | None = None
    """When somebody last changed what it says."""
    validated: bool | None = None
    """Karpenter's condition ValidationSucceeded on what it says now; None: no word on that yet."""
    why_not: str = ""
    """Reason and message of that condition, where it is False."""
    conflict: bool = False
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class WriteOverlay:
    """POST or PATCH of one overlay. `over`: the one that is there, None where it is to be made."""

    overlay: Wanted
    over: OverlayView | None = None

    @property
    def name(self) -> str:
        return self.overlay.name


@dataclass(frozen=True, slots=True)
class RemoveOverlay:
    """DELETE of one overlay of ours; the UID guards against a namesake."""

    name: str
    uid: str


OverlayAction = WriteOverlay | RemoveOverlay


@dataclass(frozen=True, slots=True)
class OverlayPlan:
    wanted: tuple[Wanted, ...] = ()
    """All that should stand, whether it does or not."""
    actions: tuple[OverlayAction, ...] = ()
    """In this order: what is removed or shrinks first, so that no two of ours ever meet on a type."""
    findings: tuple[Finding, ...] = ()
    revisit: timedelta | None = None


@dataclass(frozen=True, slots=True)
class OverlayPolicy:
    weight: int = DEFAULT_WEIGHT
    slices: bool = False
    """Whether whole GPUs and slices are told as well, not only memory."""
    silent_after: timedelta = timedelta(minutes=2)
    """So long may Karpenter take for its first word on an overlay. It needs about a second."""
    look_again: timedelta = timedelta(minutes=5)
    """How soon to look for a kind that is not there."""
