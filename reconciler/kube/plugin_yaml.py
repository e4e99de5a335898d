"""What does this YAML of the device plugin's hold? YAML 1.1 as the plugin's own reader takes it, within bounds.

Not the settings' reader: that one refuses what surprises people, and here a text means what the plugin makes of it.
The bounds are against texts of a few kilobytes that cost seconds or all memory: the ConfigMap is somebody else's.
"""

from typing import Any

import yaml

LONGEST = 8 * 1024
"""Bytes. A profile has a few hundred; YAML is read slowly, and meanwhile nothing else happens."""

_DEEPEST = 20
"""Levels. A profile has six."""

_MERGE = "tag:yaml.org,2002:merge"


class NotYaml(Exception):
    """The text cannot be read; the message says where and why, in one line."""


class _Bounded(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """As PyYAML's composer calls it, for each node."""
        if self._depth == _DEEPEST:
            raise NotYaml(f"line {self.line + 1}: it goes more than {_DEEPEST} levels deep")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """As PyYAML's constructor calls it for merge keys, which double with each level of aliases."""
        if any(key.tag == _MERGE for key, _ in node.value):
            raise NotYaml(f"line {self.line + 1}: a merge key (<<) is not read here; write its values out")
        super().flatten_mapping(node)


def first_document(text: str) -> Any:
    """The only document that the plugin looks at; None where there is none. Raises NotYaml."""
    size = len(text.encode(errors="replace"))
    if size > LONGEST:
        raise NotYaml(f"it has {size} bytes, and more than {LONGEST} are not read")
    try:
        loader = _Bounded(text)
        return loader.get_data() if loader.check_data() else None  # type: ignore[no-untyped-call] # the stubs leave these two bare
    except yaml.YAMLError as error:
        raise NotYaml(f"it is no YAML: {_where(error)}") from error
    except (ValueError, OverflowError, RecursionError, TypeError, LookupError, AttributeError) as error:
        # Python's own complaint about what PyYAML passes on unlooked at, such as the date 2026-99-99 or `!!bool maybe`.
        raise NotYaml("it is no YAML: a value in it cannot be read") from error


def _where(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem or 'cannot be parsed'}"
    return str(error).splitlines()[0]
