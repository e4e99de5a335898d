"""Is this field of a JSON text what it must be? For texts of our own that others may have edited, cut or forged.

Each mistake is one error that names the field. Numbers have bounds: what is read here is multiplied, shown as a metric
and written to Kubernetes further on. Only the standard library is used, since the probe imports this.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar

LARGEST_MIB = 1024 * 1024
"""Of one GPU, 1 TiB: far above any there is, far below a number that somebody meant as bytes."""

MOST_GPUS = 64
"""Of one node: four times what any instance type has."""

LARGEST_INT = 2**63 - 1
"""Kubernetes counts in signed 64 bits."""

_LONGEST_QUOTE = 40
"""Characters of a wrong value that its error repeats: it ends in a log line, or on a node."""

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class FieldError(ValueError):
    """The text is not what it must be; the message names the field and what is wrong with it."""


def load(text: str) -> Any:
    """Any JSON value. Raises FieldError."""
    try:
        return json.loads(text)
    except RecursionError:  # json's word for a thousand nested brackets
        raise FieldError("not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise FieldError(f"not JSON ({error})") from None


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object, and where it stands in the text. Every method raises FieldError."""

    entry: Mapping[str, Any]
    path: str = ""

    @classmethod
    def of(cls, value: Any, path: str = "") -> "Fields":
        if not isinstance(value, dict):
            raise FieldError(f"{path or 'the text'} is not a JSON object")
        return cls(value, path)

    def name(self, key: str) -> str:
        """The field as errors call it: `probe.at`."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the field says anything; null says nothing."""
        return self.entry.get(key) is not None

    def object(self, key: str) -> "Fields":
        return Fields.of(self._there(key), self.name(key))

    def objects(self, key: str) -> list["Fields"]:
        """A list of objects; empty where the field is missing."""
        found = self.entry.get(key, [])
        if not isinstance(found, list):
            raise FieldError(f"{self.name(key)} is not a list")
        return [Fields.of(one, f"{self.name(key)}[{position}]") for position, one in enumerate(found)]

    def text(self, key: str, default: str | None = None) -> str:
        """`default` stands in for a missing field; without one the field must be there."""
        return default if default is not None and key not in self.entry else self._typed(key, str, "a text")

    def flag(self, key: str) -> bool:
        return self._typed(key, bool, "true or false")

    def whole(self, key: str, most: int) -> int:
        """A whole number from 0 to `most`."""
        value = self._there(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self.wrong(key, f"a whole number from 0 to {most}")
        return value

    def share(self, key: str) -> float:
        """A part of a whole: above 0, up to 1."""
        value = self._there(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise self.wrong(key, "a share above 0 and up to 1")
        return float(value)

    def choice(self, key: str, allowed: Iterable[E]) -> E:
        """The member whose value the text is."""
        by_value = {one.value: one for one in allowed}
        found = by_value.get(self.text(key))
        if found is None:
            raise self.wrong(key, f"one of {', '.join(by_value)}")
        return found

    def moment(self, key: str) -> datetime:
        """A time with its zone."""
        text = self.text(key)
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise self.wrong(key, "a time") from None
        if at.tzinfo is None:
            raise FieldError(f"{self.name(key)} is {_quote(text)}, which has no time zone")
        return at

    def wrong(self, key: str, expected: str) -> FieldError:
        return FieldError(f"{self.name(key)} is {_quote(self.entry.get(key))}, not {expected}")

    def _there(self, key: str) -> Any:
        if key not in self.entry:
            raise FieldError(f"{self.name(key)} is missing")
        return self.entry[key]

    def _typed(self, key: str, kind: type[T], name: str) -> T:
        value = self._there(key)
        if not isinstance(value, kind):
            raise self.wrong(key, name)
        return value


def _quote(value: object) -> str:
    """Short, and never deeper than the value itself."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"
