"""Which objects does a request mean? Label and field selectors, which decode the few fields they need."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from reconciler.sandbox.kinds import NODES, PODS, Kind
from reconciler.sandbox.refusal import bad_request


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}


class _Spec(msgspec.Struct):
    nodeName: str = ""
    unschedulable: bool = False


class _Status(msgspec.Struct):
    phase: str = ""


class _Reference(msgspec.Struct):
    name: str = ""
    uid: str = ""


class Slim(msgspec.Struct):
    """The few fields that selectors may name."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)
    involvedObject: _Reference = msgspec.field(default_factory=_Reference)
    reason: str = ""


class _MetaOnly(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_slim = msgspec.json.Decoder(Slim)
_meta_only = msgspec.json.Decoder(_MetaOnly)

_GENERAL: Mapping[str, Callable[[Slim], str]] = {
    "metadata.name": lambda slim: slim.metadata.name,
    "metadata.namespace": lambda slim: slim.metadata.namespace,
}
_BY_KIND: Mapping[str, Mapping[str, Callable[[Slim], str]]] = {
    PODS.resource: {"spec.nodeName": lambda slim: slim.spec.nodeName, "status.phase": lambda slim: slim.status.phase},
    NODES.resource: {"spec.unschedulable": lambda slim: str(slim.spec.unschedulable).lower()},
    "events": {
        "involvedObject.name": lambda slim: slim.involvedObject.name,
        "involvedObject.uid": lambda slim: slim.involvedObject.uid,
        "reason": lambda slim: slim.reason,
    },
}

_SET = re.compile(r"([^\s!=(),]+)\s+(in|notin)\s+\(([^()]*)\)")
_EQUAL = re.compile(r"([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)")
_EXISTS = re.compile(r"(!?)\s*([^\s!=(),]+)")


@dataclass(frozen=True, slots=True)
class Term:
    """`key` is, or is not, one of `values`; without values: it is there, or not."""

    key: str
    wanted: bool
    values: tuple[str, ...] | None

    def accepts(self, value: str | None) -> bool:
        if self.values is None:
            return (value is not None) is self.wanted
        return (value is not None and value in self.values) is self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """All terms must hold. Without terms it selects everything, and nothing is decoded."""

    labels: tuple[Term, ...] = ()
    fields: tuple[tuple[Callable[[Slim], str], Term], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    def accepts(self, data: bytes) -> bool:
        slim = _slim.decode(data) if self.fields else Slim(metadata=_meta_only.decode(data).metadata)
        labels = slim.metadata.labels
        return all(term.accepts(labels.get(term.key)) for term in self.labels) and all(
            term.accepts(read(slim)) for read, term in self.fields
        )


def label_terms(text: str) -> tuple[Term, ...]:
    """Read `a=b,c!=d,e in (f,g),h,!i`. Raises a 400 Refusal."""
    terms = []
    for part in re.split(r",(?![^()]*\))", text):
        part = part.strip()
        if found := _SET.fullmatch(part):
            values = tuple(value.strip() for value in found[3].split(","))
            terms.append(Term(found[1], found[2] == "in", values))
        elif found := _EQUAL.fullmatch(part):
            terms.append(Term(found[1], found[2] != "!=", (found[3],)))
        elif found := _EXISTS.fullmatch(part):
            terms.append(Term(found[2], not found[1], None))
        elif part:
            raise bad_request(f"unable to parse requirement: found '{part.split()[-1]}'")
    return tuple(terms)


def selector(kind: Kind, query: Mapping[str, str]) -> Selector:
    """What the query selects. Raises a 400 Refusal for a field that this kind cannot be selected by."""
    known = {**_GENERAL, **_BY_KIND.get(kind.resource, {})}
    fields = []
    for part in filter(None, query.get("fieldSelector", "").split(",")):
        found = _EQUAL.fullmatch(part.strip())
        if found is None:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        if found[1] not in known:
            raise bad_request(f"field label not supported: {found[1]}")
        fields.append((known[found[1]], Term(found[1], found[2] != "!=", (found[3],))))
    return Selector(label_terms(query.get("labelSelector", "")), tuple(fields))


def label_selector_accepts(selection: Mapping[str, object] | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector object (matchLabels, matchExpressions) accepts these labels. None selects nothing."""
    if selection is None:
        return False
    matches = selection.get("matchLabels") or {}
    if not isinstance(matches, Mapping):
        return False
    expressions = selection.get("matchExpressions") or []
    return (
        all(labels.get(key) == value for key, value in matches.items())
        and isinstance(expressions, list)
        and all(expression_accepts(each, labels) for each in expressions)
    )


def expression_accepts(expression: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """One `{key, operator, values}`: In, NotIn, Exists, DoesNotExist, Gt, Lt. An unknown operator accepts nothing."""
    value = labels.get(str(expression.get("key")))
    given = expression.get("values") or []
    values = [str(each) for each in given] if isinstance(given, list) else []
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            if value is None or len(values) != 1 or not (_number(value) and _number(values[0])):
                return False
            return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
        case _:
            return False


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None
