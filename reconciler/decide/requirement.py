"""Does a label meet a requirement of Karpenter's, when it is only known what its value may be?

The rules are those of Karpenter's pkg/scheduling (Requirement.Has, Requirements.Compatible).
"""

from collections.abc import Mapping
from enum import IntEnum

from reconciler.model import names
from reconciler.model.node_pool import Requirement

Labels = Mapping[str, frozenset[str]]
"""Each label's possible values; none at all where the label is known to be absent. A key that is not here: unknown."""

_DIGITS = 19
"""Of the largest whole number that Go's int holds."""

_NORMAL = {
    names.LABEL_INSTANCE_TYPE_BETA: names.LABEL_INSTANCE_TYPE,
    names.LABEL_ARCH_BETA: names.LABEL_ARCH,
    names.LABEL_OS_BETA: names.LABEL_OS,
}
"""Karpenter reads the old spelling as the new one (pkg/apis/v1/labels.go, NormalizedLabels)."""


class Fit(IntEnum):
    """Ordered, so that the least of several is their conjunction."""

    NO = 0
    MAYBE = 1
    YES = 2


def normal(key: str) -> str:
    return _NORMAL.get(key, key)


def fit(requirement: Requirement, values: frozenset[str] | None) -> Fit:
    """Whether the label meets the requirement; `values` None: nothing is known of the label."""
    if values is None:
        return Fit.MAYBE
    if not values:
        return Fit.YES if requirement.operator in ("NotIn", "DoesNotExist") else Fit.NO
    answers = {_holds(requirement, value) for value in values}
    if None in answers or len(answers) > 1:
        return Fit.MAYBE
    return Fit.YES if answers == {True} else Fit.NO


def _holds(requirement: Requirement, value: str) -> bool | None:
    """None: by an operator that this version does not know."""
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return True
        case "DoesNotExist":
            return False
        case "Gt" | "Lt" | "Gte" | "Lte":
            return _compares(requirement.operator, value, requirement.values)
        case _:
            return None


def _compares(operator: str, value: str, values: tuple[str, ...]) -> bool | None:
    """Karpenter compares whole numbers, and takes nothing else for one."""
    bound = _whole(values[0]) if len(values) == 1 else None
    if bound is None:
        return None
    number = _whole(value)
    if number is None:
        return False
    return {"Gt": number > bound, "Lt": number < bound, "Gte": number >= bound, "Lte": number <= bound}[operator]


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
