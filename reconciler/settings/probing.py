"""What may people decide about the probe Job?"""

from datetime import timedelta
from typing import Literal

from pydantic import field_validator

from reconciler.model import quantity
from reconciler.model.policy import CapacityPolicy
from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob
from reconciler.settings.kinds import NAME, NAME_RULES

_DEFAULT = CapacityPolicy()
_QUANTITY_RULES = "a Kubernetes quantity above zero, such as 10m for cpu or 64Mi for memory"


class ProbeSettings(Section):
    """The Job that reads NVML on a node, once per boot."""

    enabled: bool = knob(
        _DEFAULT.probe, "Whether nodes are probed. Without it figures stay learned, built-in or EC2's.", example="true"
    )
    image: str = knob(
        "gpu-reconciler:0.1.0",
        "The image of the probe: the controller's own image serves. It must be glibc-based.",
        example="gpu-reconciler:0.1.0",
        pattern=r"^[^\s]+$",
        allowed="an image reference without spaces",
    )
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = knob(
        "IfNotPresent", "When the node pulls the image.", example="IfNotPresent"
    )
    pull_secret: str | None = knob(
        None,
        "Name of the Secret in the controller's namespace to pull the image with.",
        example="registry-login",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    runtime_class: str | None = knob(
        None,
        "RuntimeClass of the probe. GPU Operator from 25.10 on needs nvidia; EKS images need none, and a class that"
        " does not exist makes Kubernetes refuse the pod.",
        example="nvidia",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    sys_admin: bool = knob(
        False,
        "Give the probe CAP_SYS_ADMIN, for container toolkits that honour neither mount nor environment without it.",
        example="false",
    )
    read_only_root: bool = knob(
        True, "Mount the probe's root file system read-only; false where a container runtime cannot.", example="false"
    )
    user: int = knob(
        65532, "Numeric user and group of the probe; never root.", unit="(user id)", example=65532, ge=1, le=2**31 - 1
    )
    service_account: str | None = knob(
        None,
        "ServiceAccount of the probe's pod; its token is never mounted. Empty: the namespace's default.",
        example="gpu-reconciler-probe",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    priority_class: str | None = knob(
        None,
        "PriorityClass of the probe's pod.",
        example="system-node-critical",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    cpu: str = knob("10m", "CPU request of the probe.", example="10m", allowed=_QUANTITY_RULES)
    memory: str = knob("64Mi", "Memory request and limit of the probe.", example="64Mi", allowed=_QUANTITY_RULES)
    deadline: Duration = knob(
        timedelta(minutes=5),  # after a boot, a driver container builds and loads its modules for minutes
        "The Job ends after this time, image pull and retries included.",
        example="5m",
        ge=timedelta(seconds=90),  # the program ends itself after 60 s and must come to say so
        le=timedelta(hours=1),
    )
    tries: int = knob(
        4,
        "How often the probe is tried within its deadline, while its answer may still change (the driver is loading).",
        unit="times",
        example=4,
        ge=1,
        le=10,
    )
    ttl: Duration = knob(
        timedelta(minutes=10),
        "How long Kubernetes keeps the finished Job, so that people can look at it.",
        example="10m",
        ge=timedelta(minutes=1),
        le=timedelta(days=7),
    )
    retry: Duration = knob(
        _DEFAULT.probe_retry,
        "The longest wait for another try within the same boot, after a probe without figures. The first wait is 2"
        " minutes, and it doubles.",
        example="1h",
        ge=timedelta(minutes=1),
        le=timedelta(days=7),
    )
    poll: Duration = knob(
        _DEFAULT.probe_poll,
        "How soon to look again at a running probe. Its end is an event, so this is only a safety net.",
        example="30s",
        ge=timedelta(seconds=5),
        le=timedelta(minutes=10),
    )

    @field_validator("cpu", "memory")
    @classmethod
    def _quantity(cls, value: str) -> str:
        try:
            if quantity.parse(value) > 0:
                return value
        except quantity.QuantityError:
            pass
        raise ValueError("it is no Kubernetes quantity above zero")
