"""What may people decide about verifications: the Job that looks at a node's GPU as a pod sees it?"""

from datetime import timedelta

from pydantic import field_validator

from reconciler.model import quantity
from reconciler.model.fields import LARGEST_INT
from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob
from reconciler.settings.kinds import NAME, NAME_RULES


class VerifySettings(Section):
    """The Job of `gpu-reconciler verify`. What is not here (cpu, memory, user, pull secret ...) is as the probe's."""

    at_join: bool = knob(
        False,
        "Whether the controller verifies each GPU node once a boot, as soon as the node's conditions are True.",
        example="true",
    )
    image: str | None = knob(
        None,
        "The image of the Job. Empty: the probe's.",
        example="gpu-reconciler:0.1.0",
        pattern=r"^[^\s]+$",
        allowed="an image reference without spaces, or empty",
    )
    gpu_memory: str = knob(
        "64Mi",
        "How much of the memory resource the pod asks for, beside one GPU or slice.",
        example="64Mi",
        allowed="a Kubernetes quantity of whole bytes above zero, such as 64Mi",
    )
    runtime_class: str | None = knob(
        None,
        "RuntimeClass of the pod. Empty: none, as pods have that ask for a GPU; give one only where yours name it too.",
        example="nvidia",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    priority_class: str | None = knob(
        None,
        "PriorityClass of the pod. One with `preemptionPolicy: Never` keeps it from displacing pods of lower priority.",
        example="gpu-verification",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    deadline: Duration = knob(
        timedelta(minutes=2),
        "The Job ends after this time, waiting for a place and the image pull included.",
        example="5m",
        ge=timedelta(seconds=4),
        le=timedelta(hours=1),
    )
    ttl: Duration = knob(
        timedelta(minutes=10),
        "How long Kubernetes keeps the finished Job, so that people can look at it.",
        example="10m",
        ge=timedelta(minutes=1),
        le=timedelta(days=7),
    )
    at_once: int = knob(8, "Nodes that `verify --all` looks at side by side.", unit="nodes", example=8, ge=1, le=100)

    @field_validator("gpu_memory")
    @classmethod
    def _whole_bytes(cls, value: str) -> str:
        try:
            amount = quantity.parse(value)
        except quantity.QuantityError:
            amount = None
        if amount is not None and 0 < amount <= LARGEST_INT and amount == amount.to_integral_value():
            return value
        raise ValueError("it is no Kubernetes quantity of whole bytes above zero")
