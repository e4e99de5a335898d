"""What may people decide about the memory resource?"""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from reconciler.model.fields import LARGEST_MIB
from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu
from reconciler.settings import resource_name
from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob

_DEFAULT = CapacityPolicy()
_HALF = 50.0
"""Percent. A margin above half of the memory is a slip of the pen."""


def _resource(name: str) -> str:
    fault = resource_name.fault(name)
    if fault is not None:
        raise ValueError(f"Kubernetes would refuse it: the name {fault}")
    return name


ResourceName = Annotated[str, AfterValidator(_resource)]
InstanceTypeName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*\.[a-z0-9][a-z0-9-]*$")]


class OverrideSettings(Section):
    """A person's word on one instance type."""

    mib_per_gpu: int | None = knob(
        None,
        "Advertise this for each GPU, whatever EC2 says, and never more than NVML found. No margin is taken off it.",
        unit="MiB",
        example=15079,
        ge=1,
        le=LARGEST_MIB,
    )
    margin_mib: int | None = knob(None, "Instead of capacity.margin_mib.", unit="MiB", example=64, ge=0, le=LARGEST_MIB)
    margin_percent: float | None = knob(
        None, "Instead of capacity.margin_percent.", unit="percent", example=2.5, ge=0, le=_HALF
    )

    @model_validator(mode="after")
    def _says_something(self) -> "OverrideSettings":
        if not self.model_fields_set:
            raise ValueError(
                "it says nothing about the type: give mib_per_gpu, margin_mib or margin_percent, or remove it"
            )
        return self


class CapacitySettings(Section):
    """What is advertised on a node, and how figures are judged."""

    resource: ResourceName = knob(
        _DEFAULT.resource,
        "The extended resource that carries GPU memory. Pods ask for it in their limits.",
        example="veriff.com/gpu-memory",
        allowed=resource_name.RULES,
    )
    gpu_resource: ResourceName = knob(
        _DEFAULT.gpu_resource,
        "The resource in which the device plugin counts whole GPUs; the startup taint waits for it.",
        example="nvidia.com/gpu",
        allowed=resource_name.RULES,
    )
    margin_mib: int = knob(
        _DEFAULT.margin_mib,
        "Taken off NVML's figure for each GPU; where both margins are set, the larger counts.",
        unit="MiB",
        example=30,
        ge=0,
        le=LARGEST_MIB,
    )
    margin_percent: float = knob(
        _DEFAULT.margin_percent,
        "Taken off NVML's figure for each GPU, as a share of it.",
        unit="percent",
        example=1.5,
        ge=0,
        le=_HALF,
    )
    provisional_margin_mib: int = knob(
        _DEFAULT.provisional_margin_mib,
        "Taken off a figure that NVML has not confirmed yet; where both are set, the larger counts.",
        unit="MiB",
        example=512,
        ge=0,
        le=LARGEST_MIB,
    )
    provisional_margin_percent: float = knob(
        _DEFAULT.provisional_margin_percent,
        "Taken off a figure that NVML has not confirmed yet, as a share of it.",
        unit="percent",
        example=5,
        ge=0,
        le=_HALF,
    )
    tolerance_percent: float = knob(
        _DEFAULT.tolerance_percent,
        "How far EC2 and NVML may lie apart before the node reports a mismatch. NVML's figure counts either way.",
        unit="percent",
        example=10,
        ge=0,
        le=_HALF,
    )
    multi_gpu: MultiGpu = knob(
        _DEFAULT.multi_gpu,
        "What to do on nodes with several GPUs. skip: nothing is advertised. sum: the sum, which admits pods that fit"
        " no single GPU. largest: nothing is advertised, and a label tells the largest GPU's memory.",
        example="sum",
    )
    existing_value: ExistingValue = knob(
        _DEFAULT.existing_value,
        "Where somebody else advertises the resource already. take: ours replaces it. leave: theirs stays.",
        example="leave",
    )
    overrides: dict[InstanceTypeName, OverrideSettings] = Field(
        default_factory=dict,
        description="Figures of your own for single instance types. In the environment: the map as JSON.",
        examples=[{"g4dn.xlarge": {"mib_per_gpu": 15079}}],
    )
    contest_limit: int = knob(
        _DEFAULT.contest_limit,
        "After so many overwritten values within capacity.contest_window the node is left alone and says so.",
        unit="times",
        example=5,
        ge=2,
        le=100,
    )
    contest_window: Duration = knob(
        _DEFAULT.contest_window,
        "The time over which overwritten values are counted.",
        example="10m",
        ge=timedelta(minutes=1),
        le=timedelta(days=1),
    )

    @field_validator("gpu_resource")
    @classmethod
    def _differs(cls, value: str, info: ValidationInfo) -> str:
        if value == info.data.get("resource"):
            raise ValueError("it is the same as capacity.resource: memory and whole GPUs need a name each")
        return value
