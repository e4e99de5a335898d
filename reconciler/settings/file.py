"""What does the settings file say, and in which line?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from reconciler.settings.notation import PlainLoader, Refused
from reconciler.settings.shape import SettingPath, entry

_LARGEST = 1024 * 1024
"""Bytes. A settings file has a few kilobytes; a larger one is another file."""


class FileFault(Exception):
    """The file cannot be used as a whole; the text says why and where."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The tree of values, and the line of each key and each entry of a list, counted from one."""

    path: Path
    tree: Mapping[object, object]
    lines: Mapping[SettingPath, int]

    def origin(self, path: SettingPath) -> str:
        """Where the value comes from, for people."""
        line = self.lines.get(path)
        return f"file {self.path}" + (f", line {line}" if line else "")


def read(path: Path) -> SettingsFile:
    """The file as it is, unjudged. Raises FileFault."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise FileFault(f"it cannot be read: {error.strerror or error}") from error
    if len(raw) > _LARGEST:
        raise FileFault(f"it has more than {_LARGEST} bytes, so it is no settings file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFault(f"it is not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error
    root, tree = _parsed(text)
    if tree is None:
        return SettingsFile(path, {}, {})
    if not isinstance(tree, dict) or root is None:
        raise FileFault("it holds no groups of settings: it must be a map such as `capacity: {margin_mib: 30}`")
    return SettingsFile(path, tree, dict(_lines(root, ())))


def _parsed(text: str) -> tuple[yaml.Node | None, object]:
    loader: PlainLoader | None = None
    try:
        loader = PlainLoader(text)
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    except Refused as error:
        raise FileFault(f"it cannot be taken: {_where(error)}") from error
    except yaml.YAMLError as error:
        raise FileFault(f"it is no YAML: {_where(error)}") from error
    except (ValueError, OverflowError, RecursionError) as error:
        # Python's own complaint about what PyYAML passes on unlooked at, such as "\\UFFFFFFFF". It may quote the value.
        line = 1 if loader is None else loader.line + 1
        raise FileFault(f"it is no YAML: line {line}: a value that cannot be read") from error


def _lines(node: yaml.Node, path: SettingPath) -> Iterator[tuple[SettingPath, int]]:
    if isinstance(node, yaml.SequenceNode):
        for position, item in enumerate(node.value):
            yield (*path, entry(position)), item.start_mark.line + 1
            yield from _lines(item, (*path, entry(position)))
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in seen:
            raise FileFault(f"it gives {'.'.join((*path, name))} twice, in lines {seen[name]} and {line}: keep one")
        seen[name] = line
        yield (*path, name), line
        yield from _lines(value, (*path, name))


def _where(error: yaml.YAMLError) -> str:
    """The parser's complaint with line and column, but without the line's text: it may hold a secret."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem or 'cannot be parsed'}"
    return str(error).splitlines()[0]
