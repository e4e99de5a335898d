"""What does the environment say?"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from reconciler.settings import names
from reconciler.settings.shape import Given, SettingPath, Stranger, fields, given, list_of, map_of

_SERVICE_LINK = re.compile(r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)")
"""What the kubelet sets for a Service `gpu-reconciler` or `gpu-reconciler-...`, unless enableServiceLinks is false.

https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
"""


@dataclass(frozen=True, slots=True)
class NotJson:
    """The variable of a map or a list whose text is not JSON of that kind."""

    path: SettingPath
    why: str


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable with our prefix, or a borrowed one, and what it gives."""

    name: str
    finding: Given | Stranger | NotJson


def read(section: type[BaseModel], env: Mapping[str, str]) -> Iterator[Variable]:
    """Everything that concerns us, unjudged. Borrowed names come first, so that our own replace them."""
    for name, path in reversed(names.BORROWED.items()):
        if env.get(name):
            yield Variable(name, Given(path, env[name]))
    known = {names.in_environment(path): (path, field) for path, field in fields(section)}
    for name, text in env.items():
        if not name.startswith(names.PREFIX) or name == names.CONFIG:
            continue
        if name not in known:
            if not _is_service_link(name):
                yield Variable(name, Stranger((name,)))
            continue
        path, field = known[name]
        if map_of(field) is None and list_of(field) is None:
            yield Variable(name, Given(path, text))
        else:
            kind, called = (dict, "object") if list_of(field) is None else (list, "list")
            for finding in _json(section, path, text, kind, called):
                yield Variable(name, finding)


def _is_service_link(name: str) -> bool:
    rest = name.removeprefix(names.PREFIX)
    return names.DELIMITER not in rest and _SERVICE_LINK.fullmatch(rest) is not None


def _json(
    section: type[BaseModel], path: SettingPath, text: str, kind: type, called: str
) -> Iterator[Given | Stranger | NotJson]:
    if not text.strip():
        return
    try:
        value = json.loads(text)
    except RecursionError:
        yield NotJson(path, "it is no JSON that anybody meant: it goes too deep")
        return
    except ValueError as error:
        yield NotJson(path, f"it is no JSON: {error}")
        return
    if not isinstance(value, kind):
        yield NotJson(path, f"it is no JSON {called}")
        return
    tree: object = value
    for part in reversed(path):
        tree = {part: tree}
    yield from given(section, tree)
