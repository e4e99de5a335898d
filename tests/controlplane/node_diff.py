"""What changed on an object between two looks, field by field, and who wrote it by the API server's own books?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from tests.controlplane.api import Json

_NOT_SAID = {("metadata", "resourceVersion"), ("metadata", "managedFields")}
"""The server's own count of all this."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A field before and after, as JSON; None: it was or is not there. `writers` are its managers now."""

    path: Path
    before: str | None
    after: str | None
    writers: frozenset[str]


def changes(before: Json, after: Json) -> list[Change]:
    """Every field that differs. A field is a leaf; of lists the items are named by `type`, `key` or `address`."""
    one, other = dict(_leaves(before)), dict(_leaves(after))
    owners = _owners(after)
    return [
        Change(path, one.get(path), other.get(path), frozenset(_of(path, owners)))
        for path in sorted({*one, *other})
        if one.get(path) != other.get(path)
    ]


def written_by(of: Json, manager: str) -> set[Path]:
    """Every field that the manager owns, whether or not it changed anything; a list that is one field is one."""
    return {path for path, managers in _owners(of).items() if manager in managers}


def rest(of: Json, less: Set[Path]) -> bytes:
    """The object without these fields, as JSON: a list of fields with their values, in the server's order."""
    kept = [(path, value) for path, value in _leaves(of) if path not in less]
    return json.dumps(kept).encode()


def table(found: list[Change]) -> str:
    """A line for each change: field, before, after, writers."""
    rows = [("FIELD", "BEFORE", "AFTER", "WRITTEN BY")]
    rows += [
        (".".join(one.path), _shown(one.before), _shown(one.after), ", ".join(sorted(one.writers)) or "-")
        for one in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    )


def _shown(value: str | None) -> str:
    text = "(absent)" if value is None else value
    return text if len(text) <= 70 else f"{text[:66]} ..."


def _leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if path in _NOT_SAID:
        return
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, _name(item, number)))
    else:
        yield path, json.dumps(value)


def _name(item: object, number: int) -> str:
    if isinstance(item, Mapping):
        found = next((item[key] for key in ("type", "key", "address") if key in item), None)
        if found is not None:
            return str(found)
    return str(number)


def _of(path: Path, owners: Mapping[Path, set[str]]) -> set[str]:
    """The managers of the field, or of the list or map that is a field with all that is in it."""
    return set().union(*(owners.get(path[:depth], set()) for depth in range(1, len(path) + 1)))


def _owners(of: Json) -> dict[Path, set[str]]:
    found: dict[Path, set[str]] = {}
    for entry in of["metadata"]["managedFields"]:
        for path in _fields(entry["fieldsV1"]):
            found.setdefault(path, set()).add(entry["manager"])
    return found


def _fields(fields: Json, path: Path = ()) -> Iterator[Path]:
    """The leaves of FieldsV1: `f:name` is a field, `k:{"type":"Ready"}` the item of that key, `.` itself."""
    for key, inner in fields.items():
        if key == ".":
            continue
        kind, _, name = key.partition(":")
        here = (*path, next(iter(json.loads(name).values())) if kind == "k" else name)
        if set(inner) <= {"."}:
            yield here
        else:
            yield from _fields(inner, here)
