"""Which settings does a tree of sections have, and which of them does a tree of values give?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

SettingPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave, before anybody judged it."""

    path: SettingPath
    value: object


@dataclass(frozen=True, slots=True)
class Stranger:
    """A name that no setting has. Its value is not kept: it may be a secret that went astray."""

    path: SettingPath


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The section behind a field, where the field is a group of settings."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def map_of(field: FieldInfo) -> type[BaseModel] | None:
    """The section behind each value of a field, where the field is a map of groups."""
    if get_origin(field.annotation) is not dict:
        return None
    inner = get_args(field.annotation)[1]
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def list_of(field: FieldInfo) -> type[BaseModel] | None:
    """The section behind each entry of a field, where the field is a list of groups."""
    if get_origin(field.annotation) is not tuple:
        return None
    inner = get_args(field.annotation)[0]
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def entry(position: int) -> str:
    """How a path names an entry of a list: `[2]` is the third."""
    return f"[{position}]"


def is_entry(part: str) -> bool:
    return part.startswith("[") and part.endswith("]") and part[1:-1].isdecimal()


def fields(section: type[BaseModel], path: SettingPath = ()) -> Iterator[tuple[SettingPath, FieldInfo]]:
    """Every single setting and every map or list of them, in the order they are written."""
    for name, field in section.model_fields.items():
        inner = section_of(field)
        if inner is None:
            yield (*path, name), field
        else:
            yield from fields(inner, (*path, name))


def given(section: type[BaseModel], tree: object, path: SettingPath = ()) -> Iterator[Given | Stranger]:
    """The values of a tree, one by one. What is no map where a group belongs is one value, for pydantic to refuse."""
    if not isinstance(tree, Mapping):
        if tree is not None:  # `capacity:` with nothing below it gives nothing
            yield Given(path, tree)
        return
    for key, value in tree.items():
        here = (*path, str(key))
        field = section.model_fields.get(str(key))
        if field is None:
            yield Stranger(here)
        elif (inner := section_of(field)) is not None:
            yield from given(inner, value, here)
        elif (inner := map_of(field)) is not None:
            yield from _given_in_map(inner, value, here)
        elif (inner := list_of(field)) is not None:
            yield from _given_in_list(inner, value, here)
        else:
            yield Given(here, value)


def _given_in_map(inner: type[BaseModel], value: object, path: SettingPath) -> Iterator[Given | Stranger]:
    if not isinstance(value, Mapping):
        if value is not None:
            yield Given(path, value)
        return
    for key, group in value.items():
        here = (*path, str(key))
        if group:
            yield from given(inner, group, here)
        else:
            yield Given(here, {})


def _given_in_list(inner: type[BaseModel], value: object, path: SettingPath) -> Iterator[Given | Stranger]:
    if not isinstance(value, list) or not value:
        if value is not None:
            yield Given(path, value)
        return
    for position, group in enumerate(value):
        here = (*path, entry(position))
        if group:
            yield from given(inner, group, here)
        else:
            yield Given(here, {} if group is None else group)


def replaced(values: Mapping[SettingPath, object], path: SettingPath) -> list[SettingPath]:
    """What no longer counts when another list is given for the one that `path` lies in: lists are never joined."""
    within = next((path[:place] for place, part in enumerate(path) if is_entry(part)), path)
    return [known for known in values if known[: len(within)] == within]


def tree_of(values: Mapping[SettingPath, object]) -> dict[str, Any]:
    """The values as a tree again. Where a value stands in the way of a group, the value stays, to be refused."""
    root: dict[str, Any] = {}
    for path in sorted(values, key=len):
        at: Any = root
        for part in path[:-1]:
            at = at.setdefault(part, {}) if isinstance(at, dict) else None
        if isinstance(at, dict):
            at[path[-1]] = values[path]
    return {name: _with_lists(value) for name, value in root.items()}


def _with_lists(tree: Any) -> Any:
    """What has only entries for keys is a list."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(is_entry(part) for part in tree):
        return [_with_lists(tree[part]) for part in sorted(tree, key=lambda part: int(part[1:-1]))]
    return {name: _with_lists(value) for name, value in tree.items()}
