"""What may people decide about how GPUs are shared?"""

from collections import Counter
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from reconciler.model import names, quantity
from reconciler.model.fields import LARGEST_MIB
from reconciler.model.policy import Later, SlicingPolicy
from reconciler.model.quantity import MIB
from reconciler.model.sharing import (
    LEAST_REPLICAS,
    MOST_REPLICAS,
    Exclusive,
    MemoryPerSlice,
    Named,
    Replicas,
    Wanted,
)
from reconciler.settings.capacity import InstanceTypeName
from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob
from reconciler.settings.kinds import NAME, NAME_RULES

_DEFAULT = SlicingPolicy()
_NAMESPACE, _CONFIG_MAP = _DEFAULT.config_map.split("/")
MOST_EVER = 128
"""A slip of the pen, not a wish, is what asks for more slices of a GPU. Also what `gpu-reconciler profiles` makes."""

_RESULTS = ("sharing", "replicas", "memory_per_slice", "profile")

_VALUE = r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
"""A label's value: it names the profile, so it must be one."""

_WORD = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_SET = rf"\(\s*{_WORD}(?:\s*,\s*{_WORD})*\s*\)"
_REQUIREMENT = rf"\s*(?:!?{_WORD}|{_WORD}\s*(?:==?|!=)\s*(?:{_WORD})?|{_WORD}\s+(?:not)?in\s+{_SET})\s*"
_SELECTOR = rf"^{_REQUIREMENT}(?:,{_REQUIREMENT})*$"
"""A label selector as the API server reads it; one that it refused would keep the whole controller from being ready."""


def _memory(text: str) -> str:
    try:
        size = quantity.units(text)
    except quantity.QuantityError as error:
        raise ValueError(str(error)) from None
    if size % MIB or not 1 <= size // MIB <= LARGEST_MIB:
        raise ValueError(f"it is {size} bytes, and must be whole MiB from 1Mi to 1Ti")
    return text


Memory = Annotated[str, AfterValidator(_memory)]
Family = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Model = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]
ObjectName = Annotated[str, StringConstraints(pattern=NAME)]


class SharingRule(Section):
    """Selectors, all of which must hold, and exactly one of sharing, replicas, memory_per_slice and profile."""

    name: str | None = knob(
        None,
        "What sentences call the rule. Empty: its place in the list.",
        example="dev",
        pattern=r"^[A-Za-z0-9][-A-Za-z0-9_. ]{0,62}$",
        allowed="at most 63 letters, digits, spaces, '-', '_' and '.', or empty",
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Node labels that must all have these values.",
        examples=[{"team": "vision"}],
        json_schema_extra={"allowed": "a map of label names to values, which are text"},
    )
    instance_types: tuple[InstanceTypeName, ...] = knob(
        (), "Any of these instance types.", example=["g5.xlarge"], allowed="a list of names such as g4dn.xlarge"
    )
    families: tuple[Family, ...] = knob(
        (),
        "Any of these families of instance types: what stands before the dot.",
        example=["g5", "g6"],
        allowed="a list of names such as g5",
    )
    gpu_models: tuple[Model, ...] = knob(
        (),
        f"Any of these GPUs, as the label {names.LABEL_MODEL} names them; capitals do not count.",
        example=["A10G", "L4"],
        allowed="a list of names such as A10G",
    )
    capacity_types: tuple[Literal["on-demand", "spot", "reserved"], ...] = knob(
        (),
        "Any of these ways to pay, as Karpenter or EKS labels them.",
        example=["spot"],
        allowed="a list of on-demand, spot, reserved",
    )
    node_pools: tuple[ObjectName, ...] = knob(
        (), "Any of these NodePools of Karpenter.", example=["dev"], allowed="a list of NodePools' names"
    )
    sharing: Literal["exclusive"] | None = knob(
        None, "One pod on one GPU: profile `exclusive`.", example="exclusive", allowed="exclusive, or empty"
    )
    replicas: int | None = knob(
        None,
        "Each GPU shows so many times: profile `ts-4` for 4.",
        unit="slices",
        example=4,
        ge=LEAST_REPLICAS,
        le=MOST_EVER,
    )
    memory_per_slice: Memory | None = knob(
        None,
        "As many slices as fit into the advertised memory of one GPU. Where fewer than two fit the GPU is exclusive.",
        example="4Gi",
        allowed="a Kubernetes quantity in whole MiB from 1Mi to 1Ti, such as 4Gi, or empty",
    )
    most: int = knob(
        MOST_REPLICAS,
        "The most slices that memory_per_slice makes of a GPU.",
        unit="slices",
        example=8,
        ge=LEAST_REPLICAS,
        le=MOST_EVER,
    )
    profile: str | None = knob(
        None,
        "A key of the device plugin's ConfigMap as it stands, whatever count it holds.",
        example="any",
        pattern=_VALUE,
        allowed="a key that can be a label's value: at most 63 letters, digits, '-', '_' and '.', or empty",
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> "SharingRule":
        given = [name for name in _RESULTS if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none of them"
            raise ValueError(
                f"it says {said}: give exactly one of sharing: exclusive, replicas, memory_per_slice and profile"
            )
        if "most" in self.model_fields_set and self.memory_per_slice is None:
            raise ValueError("it says most, which bounds memory_per_slice only: remove it")
        return self

    def wanted(self) -> Wanted:
        """The result as decisions know it."""
        if self.replicas is not None:
            return Replicas(self.replicas)
        if self.memory_per_slice is not None:
            return MemoryPerSlice(quantity.units(self.memory_per_slice) // MIB, self.most)
        return Named(self.profile) if self.profile is not None else Exclusive()


class SlicingSettings(Section):
    """How GPUs are shared, by the device plugin's time slicing. Without rules nothing about it is read or written."""

    rules: tuple[SharingRule, ...] = Field(
        default_factory=tuple,
        description="Which nodes share their GPUs, and how: the first rule that fits a node counts, and a node that"
        " none fits is left alone. In the environment: the list as JSON, instead of the file's.",
        examples=[[{"name": "dev", "node_pools": ["dev"], "memory_per_slice": "4Gi"}, {"sharing": "exclusive"}]],
    )
    plugin_namespace: str = knob(
        _NAMESPACE,
        "Namespace of the device plugin: its pods and its ConfigMap lie there.",
        example="gpu-operator",
        pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
        allowed="a namespace's name: at most 63 lower-case letters, digits and '-'",
    )
    plugin_selector: str = knob(
        "app.kubernetes.io/name=nvidia-device-plugin",
        "Label selector of the device plugin's pods. The GPU Operator's are app=nvidia-device-plugin-daemonset.",
        example="app=nvidia-device-plugin-daemonset",
        pattern=_SELECTOR,
        allowed="a label selector such as app.kubernetes.io/name=nvidia-device-plugin",
    )
    config_map: str = knob(
        _CONFIG_MAP,
        "The ConfigMap that the device plugin was installed with (its chart's config.name). Its keys are the profiles;"
        " `gpu-reconciler profiles` prints one.",
        example="gpu-profiles",
        pattern=NAME,
        allowed=NAME_RULES,
    )
    later: Later = knob(
        _DEFAULT.later,
        "When a node without the startup taint may switch, always with no pod on its GPUs and behind a fence. idle:"
        " when no pod holds a GPU. fence: new pods are kept away until none does, for fence_for. never: not at all.",
        example="fence",
    )
    fence_for: Duration = knob(
        _DEFAULT.fence_for,
        "How long a fence keeps new pods away at most, and how long it then rests.",
        example="30m",
        ge=timedelta(seconds=10),
        le=timedelta(days=1),
    )
    mounted_after: Duration = knob(
        _DEFAULT.mounted_after,
        "How long the plugin's pods may take to see a change of the ConfigMap. A new profile is not used before.",
        example="2m",
        ge=timedelta(seconds=1),
        le=timedelta(minutes=30),
    )
    follow_within: Duration = knob(
        _DEFAULT.follow_within,
        "How long the plugin may take to offer what its profile says, before the node says that it does not.",
        example="3m",
        ge=timedelta(seconds=5),
        le=timedelta(hours=1),
    )
    contest_limit: int = knob(
        _DEFAULT.contest_limit,
        "After so many reverts of our label within slicing.contest_window it is left alone, and the node says who does"
        " it.",
        unit="times",
        example=2,
        ge=1,
        le=100,
    )
    contest_window: Duration = knob(
        _DEFAULT.contest_window,
        "The time over which reverts are counted. When it is over there is one new try.",
        example="10m",
        ge=timedelta(minutes=1),
        le=timedelta(days=1),
    )
    restart_plugin: bool = knob(
        _DEFAULT.restart_plugin,
        "Whether to delete a plugin's pod that is ready and offers no GPU (NVIDIA/k8s-device-plugin 1645).",
        example="true",
    )
    most_restarts: int = knob(
        _DEFAULT.most_restarts,
        "How often the plugin's pod of a node is deleted for one switch.",
        unit="times",
        example=1,
        ge=1,
        le=10,
    )
    remove_stale: bool = knob(
        _DEFAULT.remove_stale,
        "Whether to remove the 0 that stays under the former name when a profile renames the resource.",
        example="true",
    )

    @field_validator("rules")
    @classmethod
    def _names_differ(cls, value: tuple[SharingRule, ...]) -> tuple[SharingRule, ...]:
        twice = [name for name, count in Counter(rule.name for rule in value if rule.name).items() if count > 1]
        if twice:
            raise ValueError(f"two rules are named {twice[0]}: sentences on nodes could not tell them apart")
        return value
