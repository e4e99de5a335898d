"""What should a node say about its GPU memory? The judgement, before anybody looks at what the node says now."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.gpu import LearnedFigure
from reconciler.model.reasons import Reason
from reconciler.model.record import Source

SILENT = frozenset({Reason.DELETING, Reason.NOT_READY, Reason.AWAITING_TYPE})
"""Nothing is written: the node is going, is not there yet, or the answer is on its way."""

NOT_OURS = frozenset({Reason.NO_GPU, Reason.NOT_NVIDIA})
"""Nothing is written, unless something of ours is on the node: then that is withdrawn."""

IN_THE_DARK = frozenset({Reason.UNKNOWN_TYPE, Reason.NO_INSTANCE_TYPE})
"""It is said that nothing is known; what is advertised stays, since ignorance is no finding."""

WARNINGS = frozenset(
    {
        Reason.MISMATCH,
        Reason.GPU_LOST,
        Reason.NO_NVML,
        Reason.WOULD_OVERCOMMIT,
        Reason.CONTESTED,
        Reason.UNVERIFIED,
        Reason.NOTHING_LEFT,
    }
)
"""A person should look."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer for one node."""

    reason: Reason
    because: str
    """A sentence for the node's owner. It holds while nothing changes, so it names no durations and no progress."""
    basis: str = ""
    """The clause of `because` that says where the figure comes from, if there is one."""
    aside: str = ""
    """What else is worth saying now: progress, waiting. It is not written on the node."""
    mib: int | None = None
    """MiB of the whole node to advertise; None: nothing is to be advertised."""
    source: Source = Source.NONE
    labels: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    count: int = 0
    ec2_mib: int | None = None
    learn: LearnedFigure | None = None
    """What this node teaches about its type, if it is healthy."""
    probe_wanted: bool = False
    """Whether a probe would tell more. Where nothing will be advertised whatever it says, it would not."""
    conclusive: bool = False
    """Whether the probe gave all it could: no later try within this boot would say more."""
