"""Who wrote it? metadata.managedFields, for what people ask it about: the labels of nodes, the data of ConfigMaps.

Of the rest of an object nothing is recorded, so a manager that wrote only other fields has no entry.
"""

from datetime import datetime

from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.kinds import CONFIGMAPS, NODES, Kind

UNKNOWN = "unknown"
"""The manager of who does not say. The real server takes the beginning of the user agent."""

_Path = tuple[str, ...]
_PARTS: dict[Kind, tuple[_Path, ...]] = {
    NODES: (("metadata", "labels"),),
    CONFIGMAPS: (("data",), ("metadata", "labels")),
}


def record(kind: Kind, old: Json | None, new: Json, manager: str, subresource: str, now: datetime) -> None:
    """Write into `new` who owns what, given what there was. A field that changes is its writer's alone."""
    parts = _PARTS.get(kind)
    if parts is None:
        return
    entries: list[Json] = [dict(each) for each in ((old or {}).get("metadata") or {}).get("managedFields") or []]
    mine = _find(entries, manager or UNKNOWN, subresource)
    for path in parts:
        before, after = _map(old or {}, path), _map(new, path)
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        for each in entries:
            _own(each, path, _owned(each, path) - changed)
        written = {key for key in changed if key in after}
        if mine is None and written:
            mine = _entry(new, manager or UNKNOWN, subresource)
            entries.append(mine)
        if mine is not None:
            _own(mine, path, _owned(mine, path) | written)
    if mine is not None:
        mine["time"] = stamp(now)
    if kept := [each for each in entries if each["fieldsV1"]]:
        new["metadata"]["managedFields"] = kept
    else:
        new["metadata"].pop("managedFields", None)


def _find(entries: list[Json], manager: str, subresource: str) -> Json | None:
    return next(
        (each for each in entries if (each["manager"], each.get("subresource", "")) == (manager, subresource)), None
    )


def _entry(obj: Json, manager: str, subresource: str) -> Json:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": obj.get("apiVersion", "v1"),
        "time": "",
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
        **({"subresource": subresource} if subresource else {}),
    }


def _map(obj: Json, path: _Path) -> Json:
    for part in path:
        obj = obj.get(part) or {}
    return obj


def _owned(entry: Json, path: _Path) -> set[str]:
    return {key.removeprefix("f:") for key in _map(entry["fieldsV1"], tuple(f"f:{part}" for part in path))}


def _own(entry: Json, path: _Path, keys: set[str]) -> None:
    """Set which keys an entry owns under a path; empty branches go."""
    entry["fieldsV1"] = _with(entry["fieldsV1"], path, {f"f:{key}": {} for key in sorted(keys)})


def _with(tree: Json, path: _Path, leaf: Json) -> Json:
    if not path:
        return leaf
    name = f"f:{path[0]}"
    branch = _with(tree.get(name) or {}, path[1:], leaf)
    return {**tree, name: branch} if branch else {key: value for key, value in tree.items() if key != name}
