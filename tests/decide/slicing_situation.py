"""One situation of a node that shares its GPUs, and the answer it must get; with what the tables of them share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from reconciler.decide.label import of as labels_of
from reconciler.decide.slicing import SharingDecision, SharingFacts
from reconciler.decide.verdict import Verdict
from reconciler.model import fence, names
from reconciler.model.node import Condition, NodeName, Resources, Taint
from reconciler.model.plan import Action
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import Later, SlicingPolicy, SlicingRule
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import Source
from reconciler.model.sharing import (
    Exclusive,
    MemoryPerSlice,
    Named,
    PluginConfig,
    Profile,
    Replicas,
    UnusableProfile,
    Wanted,
)
from reconciler.model.sharing_record import SharingRecord
from reconciler.model.workload import PodRef
from tests.decide.fake_node import NOW, node

T = TypeVar("T")

GPU, SHARED = names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE
STARTUP = (Taint(names.STARTUP_TAINT, "NoSchedule"),)
LONG_AGO = NOW - timedelta(hours=2)
POD = PluginPod(PodRef("nvidia-device-plugin", "nvdp-x2x5v", "pod-1"), NodeName("ip-10-0-0-1"), LONG_AGO, True, True)
SHIPPED = {"exclusive": Profile(), **{f"ts-{count}": Profile(count) for count in range(2, 17)}}
CONFIG = PluginConfig(SHIPPED, LONG_AGO)


def policy(*wanted: Wanted, **knobs: object) -> SlicingPolicy:
    """One rule for every node, called dev, unless told otherwise."""
    rules = tuple(SlicingRule(one, name="dev") for one in wanted or (Replicas(4),))
    return replace(SlicingPolicy(rules), **knobs)  # type: ignore[arg-type]  # checked by the dataclass


FOUR = policy()
ALONE = policy(Exclusive())
BY_MEMORY = policy(MemoryPerSlice(4096))
NAMED = policy(Named("any"))
WAITING = policy(later=Later.FENCE)
NEVER = policy(later=Later.NEVER)


def verdict(reason: Reason = Reason.VERIFIED, mib: int | None = 14910, count: int = 1, model: str = "T4") -> Verdict:
    """What was decided on the node's memory."""
    labels = labels_of(model, 15360, count, Source.NVML) if mib is not None else {}
    return Verdict(reason, f"it is {reason.value}", mib=mib, labels=labels, model=model, count=count)


def facts(
    labels: Mapping[str, str] | None = None,
    offers: Resources | None = None,
    *,
    taints: tuple[Taint, ...] = (),
    record: SharingRecord | None = None,
    said: Condition | None = None,
    **others: object,
) -> SharingFacts:
    """A T4 node of which nothing was said yet, with a plugin that runs and offers one GPU."""
    amounts = {"cpu": 4000, **({GPU: 1} if offers is None else offers)}
    view = node(
        labels=dict(labels or {}),
        capacity=amounts,
        taints=taints,
        sharing_record=record,
        sharing_condition=said,
    )
    blank = SharingFacts(view, verdict(), settled=True, plugin=CONFIG, pods=(POD,), held=0)
    return replace(blank, **others)  # type: ignore[arg-type]  # the caller's fields are checked by the dataclass


def config(**profiles: Profile | UnusableProfile) -> PluginConfig:
    """A ConfigMap with these keys; `ts_4` is ts-4."""
    return PluginConfig({name.replace("_", "-"): one for name, one in profiles.items()}, LONG_AGO)


def label(profile: str) -> Mapping[str, str]:
    return {names.PLUGIN_CONFIG: profile}


def ours(profile: str = "ts-4", minutes: float = 60, **others: object) -> SharingRecord:
    """We wrote this label so many minutes ago."""
    written = SharingRecord(profile, NOW - timedelta(minutes=minutes))
    return replace(written, **others)  # type: ignore[arg-type]  # checked by the dataclass


def said(reason: SharingReason, minutes: float = 60, *, status: str = "False") -> Condition:
    """What the node says, and for how many minutes."""
    since = NOW - timedelta(minutes=minutes)
    return Condition(names.SHARING_CONDITION, status, reason.value, "an earlier sentence", since)


def sliced(minutes: float = 60) -> Condition:
    return said(SharingReason.SLICED, minutes, status="True")


def fenced(until: datetime = NOW + timedelta(minutes=25), purpose: str = fence.SLICING) -> tuple[Taint, ...]:
    return (fence.taint(purpose, until),)


def kinds(decision: SharingDecision) -> list[str]:
    """The actions by name."""
    return [type(action).__name__ for action in decision.actions]


def only(decision: SharingDecision, kind: type[T]) -> T:
    """The one action of this kind."""
    (action,) = [action for action in decision.actions if isinstance(action, kind)]
    return action


def of_kind(actions: tuple[Action, ...], kind: type[T]) -> list[T]:
    return [action for action in actions if isinstance(action, kind)]


NOTHING: tuple[str, ...] = ()
CHANGED = "until that has changed"
LATE = said(SharingReason.SWITCHING)
FOLLOWS = "until the device plugin offers 4 nvidia.com/gpu"


@dataclass(frozen=True)
class Row:
    name: str
    facts: SharingFacts
    reason: SharingReason
    says: str = ""
    actions: tuple[str, ...] = ("Announce", "Advertise")
    holds: str = ""
    """How the clause begins; empty: nothing is held."""
    policy: SlicingPolicy = FOUR
    label: str = ""
    """What the label is set to; empty: it is left."""
    profile: str | None = None
    expected: int | None = None
    revisit: timedelta | None = None
