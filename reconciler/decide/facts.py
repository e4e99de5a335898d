"""What is known of one GPU node at one moment? The argument list of every capacity decision."""

from dataclasses import dataclass

from reconciler.model.gpu import LearnedFigure, SpecAnswer
from reconciler.model.node import NodeView
from reconciler.model.probe_state import ProbeState


@dataclass(frozen=True, slots=True)
class CapacityFacts:
    node: NodeView
    spec: SpecAnswer | None
    """EC2's answer, or the built-in row where EC2 cannot be asked; None while nobody has been asked."""
    builtin: SpecAnswer | None
    """The built-in table's answer, for the time until EC2 has been asked."""
    learned: LearnedFigure | None
    probe: ProbeState
    """The newest probe Job of the node's present boot."""
    requested: int
    """Bytes of the memory resource that running pods on the node ask for."""
