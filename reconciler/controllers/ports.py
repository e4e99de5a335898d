"""What do the loops need from the world? Structural: `app` is where mypy proves that the doors fit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from reconciler.model.gpu import LearnedFigure, SpecAnswer
from reconciler.model.node import InstanceType, NodeClaimView, NodeName, NodeView
from reconciler.model.plan import Action, Outcome, Plan
from reconciler.model.plugin import PluginPod
from reconciler.model.probe_state import ProbeState
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import PluginConfig


class Nodes(Protocol):
    """The latest view of each node."""

    def get(self, name: NodeName) -> NodeView | None: ...

    def of_type(self, instance_type: InstanceType) -> Collection[NodeName]: ...

    def all(self) -> Iterable[NodeView]: ...


class Pods(Protocol):
    """The latest view of the pods that hold something on a node."""

    def requested(self, node: NodeName, resource: str) -> int: ...

    def held(self, node: NodeName) -> int:
        """How many GPUs and slices they hold together."""
        ...


class Plugins(Protocol):
    """What is seen of the device plugin."""

    @property
    def config(self) -> PluginConfig | None: ...

    @property
    def readable(self) -> bool:
        """Whether the ConfigMap may be read; where not, there is none for us."""
        ...

    def on_node(self, node: NodeName) -> tuple[PluginPod, ...]: ...


class Probes(Protocol):
    """The probe of the node's present boot."""

    def state(self, node: NodeView) -> ProbeState: ...


class Pools(Protocol):
    """The NodePools' templates."""

    def labels(self, name: str) -> Mapping[str, str]: ...


class Claims(Protocol):
    """What Karpenter made nodes for."""

    def of_node(self, node: NodeName) -> NodeClaimView | None: ...


class Catalog(Protocol):
    """What is known of instance types right now, without asking anybody."""

    def spec(self, instance_type: InstanceType) -> SpecAnswer | None:
        """EC2's answer, or the built-in row where EC2 cannot be asked; None while nobody has been asked."""
        ...

    def builtin(self, instance_type: InstanceType) -> SpecAnswer | None:
        """The built-in table's answer, for the time until EC2 has been asked; None for a type it lacks."""
        ...

    def learned(self, instance_type: InstanceType) -> LearnedFigure | None: ...


class TypeSource(Protocol):
    """Who is asked about instance types: EC2."""

    async def describe(self, instance_types: Sequence[InstanceType]) -> Sequence[SpecAnswer]:
        """One answer for each type, always; raises Unavailable only when asking later makes sense."""
        ...


class SpecMemory(Protocol):
    """Where EC2's answers are kept, beyond this process's life."""

    def due(self, instance_type: InstanceType) -> bool:
        """Whether the type was never asked for, or so long ago that it should be asked again."""
        ...

    async def remember(self, answers: Sequence[SpecAnswer]) -> None: ...


class Actuator(Protocol):
    """Carries out actions, in their order, and stops at the first that is not done."""

    async def apply(self, actions: Sequence[Action]) -> Sequence[Outcome]: ...


class Observer(Protocol):
    """Who shows the state of nodes to people: metrics, and whoever listens."""

    def planned(self, node: NodeView, plan: Plan, sharing: SharingReason | None) -> None:
        """`sharing` None: there is nothing to say of it."""
        ...

    def gone(self, name: NodeName) -> None: ...
