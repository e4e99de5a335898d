"""Do these labels fit this selector? For files; in a cluster the API server answers.

The grammar is apimachinery's (pkg/labels/selector.go): comma-separated `a=b`, `a==b`, `a!=b`, `a in (b,c)`,
`a notin (b,c)`, `a`, `!a`. A label that is missing fits `!=` and `notin`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TERM = re.compile(
    r"""\s*(?:
        (?P<absent>!)\s*(?P<without>[^\s,=!()]+)
      | (?P<set>[^\s,=!()]+)\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)
      | (?P<key>[^\s,=!()]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[^\s,=!()]*))?
    )\s*(?:,|\Z)""",
    re.VERBOSE,
)


class SelectorError(ValueError):
    """The text is no label selector; the message says where it stops being one."""


@dataclass(frozen=True, slots=True)
class _Term:
    key: str
    values: frozenset[str] | None
    """None: any value will do, as long as there is one."""
    wanted: bool


class LabelSelector:
    """Raises SelectorError."""

    def __init__(self, text: str) -> None:
        self._terms: list[_Term] = []
        position = 0
        while position < len(text):
            found = _TERM.match(text, position)
            if found is None:
                raise SelectorError(f"{text!r} is no label selector from character {position + 1} on")
            self._terms.append(_term(found))
            position = found.end()

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Every term must hold; a selector without any fits all."""
        return all(_holds(term, labels) for term in self._terms)


def _term(found: re.Match[str]) -> _Term:
    if found["absent"]:
        return _Term(found["without"], None, wanted=False)
    if found["set"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _Term(found["set"], values, wanted=found["how"] == "in")
    if found["sign"] is None:
        return _Term(found["key"], None, wanted=True)
    return _Term(found["key"], frozenset([found["value"]]), wanted=found["sign"] != "!=")


def _holds(term: _Term, labels: Mapping[str, str]) -> bool:
    there = term.key in labels and (term.values is None or labels[term.key] in term.values)
    return there is term.wanted
