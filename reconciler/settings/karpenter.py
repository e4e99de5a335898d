"""What may people decide about what Karpenter is told?"""

from datetime import timedelta
from typing import Literal

from reconciler.model.overlay import DEFAULT_WEIGHT, LARGEST_WEIGHT, OverlayPolicy
from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob


class KarpenterSettings(Section):
    """What Karpenter learns of nodes that are not there yet (docs/karpenter.md)."""

    overlays: Literal["off", "plan", "write"] = knob(
        "plan",
        "NodeOverlays by which Karpenter scales from zero for GPU memory. off: nothing is looked at. plan: what would"
        " be written, and what is in the way, is logged and measured. write: they are written, kept true and pruned.",
        example="write",
    )
    overlay_weight: int = knob(
        DEFAULT_WEIGHT,
        "Weight of our overlays. Of two that set the same resource for a type the larger weight counts; at equal"
        " weights ours step back.",
        unit="points",
        example=DEFAULT_WEIGHT,
        ge=1,
        le=LARGEST_WEIGHT,
    )
    overlay_slices: bool = knob(
        False,
        "Whether overlays tell GPUs too, where a node offers another number than Karpenter knows by itself: slices in"
        " NodePools that have a rule for sharing, and the GPU of g6f and gr6f, which EC2 counts as none.",
        example="true",
    )
    overlay_silence: Duration = knob(
        OverlayPolicy().silent_after,
        "So long may Karpenter say nothing about an overlay of ours before it is reported that its feature gate is off."
        " It needs about a second.",
        example="2m",
        ge=timedelta(seconds=5),
        le=timedelta(hours=1),
    )
    uninitialized_after: Duration = knob(
        timedelta(minutes=10),
        "A NodeClaim that waits so long for our resource before it counts as initialized is reported, with the cause.",
        example="10m",
        ge=timedelta(minutes=1),
        le=timedelta(days=1),
    )


def overlay_policy(settings: KarpenterSettings) -> OverlayPolicy:
    """The knobs of decide/overlays, as plain values."""
    return OverlayPolicy(
        weight=settings.overlay_weight, slices=settings.overlay_slices, silent_after=settings.overlay_silence
    )
