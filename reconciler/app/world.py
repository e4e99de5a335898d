"""What is the controller given of the world outside?"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from reconciler.controllers.ports import TypeSource
from reconciler.model.gpu import BuiltinFigure, GpuSpec, SpecAnswer
from reconciler.model.node import InstanceType
from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Transport


@dataclass(frozen=True, slots=True)
class World:
    """What the controller is given of the world outside."""

    transport: Transport
    types: TypeSource
    builtin: Callable[[InstanceType], SpecAnswer | None]
    """What is known of a type without asking EC2."""
    row: Callable[[GpuSpec], BuiltinFigure | None]
    """What is known of the same GPUs, beside EC2's answer."""
    table: Collection[InstanceType]
    """The types of the built-in table."""
    clock: Clock
    random: Callable[[], float]
