"""Does a pod fit a node, and if not, how does the scheduler say so? Filters in the real one's order, and a score."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.quantity import value as amount
from reconciler.sandbox.selectors import expression_accepts

_NONE = Fraction(0)

_NON_ZERO = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 2**20)}
"""What the score counts for a pod that asks for nothing (schedutil DefaultMilliCPURequest, DefaultMemoryRequest)."""


def requests(pod: Json) -> dict[str, Fraction]:
    """What a pod takes: the sum of its containers and side-cars, or its largest init container; and its overhead."""
    spec = pod["spec"]
    together: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or []:
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            _add(together, asked)
            continue
        for name, wanted in asked.items():
            largest[name] = max(largest.get(name, _NONE), wanted + together.get(name, _NONE))
    for container in spec.get("containers") or []:
        _add(together, _asked(container))
    total = {name: max(together.get(name, _NONE), largest.get(name, _NONE)) for name in {**together, **largest}}
    _add(total, {name: amount(text) for name, text in (spec.get("overhead") or {}).items()})
    return total


def _asked(container: Json) -> dict[str, Fraction]:
    return {name: amount(text) for name, text in ((container.get("resources") or {}).get("requests") or {}).items()}


def _add(total: dict[str, Fraction], asked: Mapping[str, Fraction]) -> None:
    for name, wanted in asked.items():
        total[name] = total.get(name, _NONE) + wanted


@dataclass(slots=True)
class Room:
    """A node and what is taken of it."""

    node: Json
    taken: dict[str, Fraction] = field(default_factory=dict)
    pods: int = 0
    owners: Counter[str] = field(default_factory=Counter)

    def add(self, pod: Json) -> None:
        _add(self.taken, requests(pod))
        self.pods += 1
        self.owners[owner(pod)] += 1

    def allocatable(self, name: str) -> Fraction:
        text = (self.node.get("status", {}).get("allocatable") or {}).get(name)
        return _NONE if text is None else amount(text)


def owner(pod: Json) -> str:
    """The uid of what controls the pod, or its own."""
    references = pod["metadata"].get("ownerReferences") or [pod["metadata"]]
    return str(references[0]["uid"])


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a node does not take a pod; `helpless` when not even an empty node would."""

    reasons: tuple[str, ...]
    helpless: bool = True


def refused(pod: Json, room: Room) -> Refused | None:
    """The first filter that refuses, or None."""
    spec, node = pod["spec"], room.node
    tolerations = spec.get("tolerations") or []
    unschedulable = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not tolerates(tolerations, unschedulable):
        return Refused(("node(s) were unschedulable",))
    if any(not tolerates(tolerations, taint) for taint in node["spec"].get("taints") or [] if _forbids(taint)):
        return Refused(("node(s) had untolerated taint(s)",))
    named = named_nodes(spec)
    if named is not None and node["metadata"]["name"] not in named:
        return Refused(("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
    if not affine(spec, node):
        return Refused(("node(s) didn't match Pod's node affinity/selector",))
    return _too_small(pod, room)


def _too_small(pod: Json, room: Room) -> Refused | None:
    reasons, helpless = [], False
    if room.pods + 1 > room.allocatable("pods"):
        reasons.append("Too many pods")
        helpless = room.allocatable("pods") < 1
    for name, wanted in requests(pod).items():
        if wanted > room.allocatable(name) - room.taken.get(name, _NONE):
            reasons.append(f"Insufficient {name}")
            helpless = helpless or wanted > room.allocatable(name)
    return Refused(tuple(reasons), helpless) if reasons else None


def _forbids(taint: Json) -> bool:
    return taint.get("effect") in ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[Json], taint: Json) -> bool:
    """Whether any of the tolerations meets the taint (component-helpers, ToleratesTaint)."""
    return any(
        each.get("effect") in (None, "", taint.get("effect"))
        and (each.get("key") in (None, "") or each.get("key") == taint["key"])
        and (
            each.get("operator") == "Exists"
            or (each.get("operator") in (None, "", "Equal") and each.get("value", "") == taint.get("value", ""))
        )
        for each in tolerations
    )


def _terms(spec: Json) -> list[Json] | None:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or []


def named_nodes(spec: Json) -> set[str] | None:
    """The only nodes that come into question, when every term names them by metadata.name; None: all do."""
    terms = _terms(spec)
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        fields = [each for each in term.get("matchFields") or [] if each.get("operator") == "In"]
        if not fields:
            return None
        names.update(*(each.get("values") or [] for each in fields))
    return names


def affine(spec: Json, node: Json) -> bool:
    """nodeSelector and required node affinity: terms are alternatives, an empty term matches nothing."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != wanted for key, wanted in (spec.get("nodeSelector") or {}).items()):
        return False
    terms = _terms(spec)
    return terms is None or any(_matches(term, labels, node["metadata"]["name"]) for term in terms)


def _matches(term: Json, labels: Mapping[str, str], name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    return (
        bool(expressions or fields)
        and all(expression_accepts(each, labels) for each in expressions)
        and all(expression_accepts(each, {"metadata.name": name}) for each in fields)
    )


def score(pod: Json, room: Room) -> tuple[int, int]:
    """Larger is better: fewer pods of the same owner, then more of cpu and memory left (least allocated)."""
    asked = requests(pod)
    left = 0
    for name, least in _NON_ZERO.items():
        whole = room.allocatable(name)
        used = room.taken.get(name, _NONE) + (asked.get(name) or least)
        left += int((whole - used) * 100 / whole) if whole > used else 0
    return -room.owners[owner(pod)], left


def explanation(refusals: list[Refused]) -> str:
    """The message of PodScheduled=False, one refusal per node."""
    count = len(refusals)
    if not count:
        return "no nodes available to schedule pods"
    reasons = Counter(reason for refusal in refusals for reason in refusal.reasons)
    helps = Counter(
        "Preemption is not helpful for scheduling"
        if refusal.helpless
        else "No preemption victims found for incoming pod"
        for refusal in refusals
    )
    head = f"0/{count} nodes are available: "
    return f"{head}{_counted(reasons)}. no new claims to deallocate, preemption: {head}{_counted(helps)}."


def _counted(reasons: Counter[str]) -> str:
    return ", ".join(sorted(f"{number} {reason}" for reason, number in reasons.items()))
