"""Does a node keep its promise of a GPU, as a pod sees it? The steps of a verification, and the knobs it sees."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from reconciler.model import names
from reconciler.model.node import NodeName
from reconciler.model.verification_record import Result


@dataclass(frozen=True, slots=True)
class VerifyPolicy:
    resource: str = names.MEMORY_RESOURCE
    gpu_resource: str = names.GPU_RESOURCE
    memory: int = 64 * 2**20
    """Bytes of the memory resource that the pod asks for."""
    tolerance_percent: float = 10.0
    """Two figures of one GPU's memory agree within this."""
    probe: bool = True
    """Whether nodes are probed; without that a learned figure is all that will be known."""
    settle: timedelta = timedelta(seconds=15)
    """At join: the node's conditions must have stood so long, since one may come a moment after the other."""
    poll: timedelta = timedelta(seconds=30)
    """At join: how soon to look again at a running Job. Only a safety net: its end is an event."""


class StepName(StrEnum):
    """What is looked at, in this order. The closed list; docs/verify.md tells what each means."""

    NODE = "node"
    """The node is ready, and its GPUs are for pods."""
    OFFERED = "offered"
    """The device plugin offers GPUs to the scheduler."""
    SLOTS = "slots"
    """It offers as many as the GPUs and the sharing profile make."""
    ADVERTISED = "advertised"
    """GPU memory is offered to the scheduler."""
    CREATED = "created"
    """A Job and its pod could be made."""
    SCHEDULED = "scheduled"
    ADMITTED = "admitted"
    """The kubelet took the pod, and the device plugin gave it a GPU."""
    IMAGE = "image"
    STARTED = "started"
    LIBRARY = "library"
    """NVIDIA's library is in the container."""
    DRIVER = "driver"
    """The library speaks with the driver."""
    GPUS = "gpus"
    """The pod sees the one GPU that it asked for, and no other."""
    MODEL = "model"
    MEMORY = "memory"


class StepState(StrEnum):
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    """There was nothing to look at, or an earlier step left nothing to look with."""


@dataclass(frozen=True, slots=True)
class Step:
    name: StepName
    state: StepState
    sentence: str


@dataclass(frozen=True, slots=True)
class Verification:
    """All steps of one node, in order."""

    node: NodeName
    steps: tuple[Step, ...]
    job: str = ""
    """The Job that was looked at; empty where none was made."""

    @property
    def result(self) -> Result:
        """Verified needs a pod that saw its GPU: a row of skipped steps proves nothing."""
        states = {step.name: step.state for step in self.steps}
        if StepState.FAILED in states.values():
            return Result.FAILED
        return Result.VERIFIED if states.get(StepName.GPUS) is StepState.OK else Result.SKIPPED

    @property
    def failed(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.state is StepState.FAILED)

    def to_document(self) -> dict[str, object]:
        """The object as JSON can write it."""
        steps = [{"name": one.name.value, "state": one.state.value, "sentence": one.sentence} for one in self.steps]
        return {"node": self.node, "result": self.result.value, "job": self.job, "steps": steps}


class VerifyReason(StrEnum):
    """Reasons of the Events about verifications at join."""

    VERIFIED = "PodVerified"
    FAILED = "PodNotVerified"
