"""What should a node say about its sharing, and what is to be done for it? The answer, before a look at the node."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from reconciler.model.plugin import PluginPod
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing_record import SharingRecord

FOLLOWS = frozenset({SharingReason.EXCLUSIVE, SharingReason.SLICED})
"""The node offers what is wanted: the condition is True."""

UNSAID = frozenset({SharingReason.NO_RULE, SharingReason.NOT_READY})
"""Nothing is written, unless something of ours is on the node: then that is withdrawn."""

WARNINGS = frozenset(
    {
        SharingReason.NO_PLUGIN_POD,
        SharingReason.NO_CONFIG_MANAGER,
        SharingReason.PROFILE_MISSING,
        SharingReason.PROFILE_INVALID,
        SharingReason.CONFIG_MANAGER_FAILING,
        SharingReason.PLUGIN_FAILING,
        SharingReason.NO_GPUS_OFFERED,
        SharingReason.WRONG_COUNT,
        SharingReason.FOREIGN_LABEL,
        SharingReason.REVERTED,
    }
)
"""A person should look."""


class Voice(Enum):
    """How much of an answer reaches the node."""

    ALL = auto()
    FENCE = auto()
    """Nothing is said, for now or for good; only a fence that nobody needs is taken away."""
    NONE = auto()
    """The node is not ours to write on."""


@dataclass(frozen=True, slots=True)
class Answer:
    reason: SharingReason
    because: str
    """A sentence that holds while nothing changes: no durations, no progress."""
    record: SharingRecord
    """What is to be remembered on the node."""
    holds: str = ""
    """Why the startup taint must stay, as a clause; empty where it may go."""
    profile: str = ""
    expected: int | None = None
    revisit: timedelta | None = None
    label: str = ""
    """What to set the label to; empty: it stays as it is."""
    fence: datetime | None = None
    """The deadline of a fence that must be set before anything else is done."""
    keeps_fence: bool = False
    """Whether a fence of ours that stands is needed still."""
    restart: PluginPod | None = None
    removes: str = ""
    """A resource whose zero is to be taken off the node."""
    voice: Voice = Voice.ALL
