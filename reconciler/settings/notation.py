"""Which YAML may a settings file use? Its plain part, read as YAML 1.2's core schema reads it.

PyYAML speaks YAML 1.1, where `010` is 8, `1:30` is 90 and `yes` is true: surprises that no settings file needs. Nor
does it need anchors, aliases and tags, with which a few bytes make a tree that has no end.
"""

import re
from typing import Any

import yaml

_DEEPEST = 20
"""Levels. Settings have four; a composer that calls itself for thousands would exhaust Python's stack."""

_LONGEST_NUMBER = 40
"""Characters. Python refuses to read integers of more than 4300."""

_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

_CORE = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+", list("-+0123456789")),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}
"""Pattern and first characters (https://yaml.org/spec/1.2.2/#1032-tag-resolution), less octal and hexadecimal."""


class Refused(yaml.MarkedYAMLError):
    """YAML that a settings file may not use."""

    def __init__(self, why: str, event: yaml.Event) -> None:
        super().__init__(problem=why, problem_mark=_mark(event))


def _mark(event: yaml.Event) -> yaml.Mark | None:
    """Where it stands; the stubs allow for libyaml's marks too, which our loader never makes."""
    return event.start_mark if isinstance(event.start_mark, yaml.Mark) else None


class PlainLoader(yaml.SafeLoader):
    """Composes and constructs the plain part of YAML; raises Refused, with a mark, for the rest."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own name and way: add_implicit_resolver fills it

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        """As PyYAML's composer calls it, for each node of the document. Its arguments only go on to PyYAML."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call] # the stubs leave it bare
        _judge(event)
        if self._depth == _DEEPEST:
            raise Refused(f"it goes more than {_DEEPEST} levels deep; settings have four", event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _judge(event: yaml.Event) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise Refused("an alias (*) stands here: write the value itself", event)
    if getattr(event, "anchor", None) is not None:
        raise Refused("an anchor (&) stands here: no setting needs one, remove it", event)
    if getattr(event, "tag", None) is not None:
        raise Refused("a tag (!) stands here: no setting needs one, remove it", event)
    if isinstance(event, yaml.ScalarEvent):
        _judge_scalar(event)


def _judge_scalar(event: yaml.ScalarEvent) -> None:
    if _SURROGATE.search(event.value):
        raise Refused("half of a surrogate pair stands here: it is no character", event)
    if event.style is not None:
        return  # quoted: text, whatever it looks like
    if _LEADING_ZERO.fullmatch(event.value):
        raise Refused(
            "a number starts with zero, which some read as octal: leave the zero out, or quote what is text",
            event,
        )
    if len(event.value) > _LONGEST_NUMBER and re.fullmatch(_CORE["int"][0], event.value):
        raise Refused(f"a number of {len(event.value)} digits stands here", event)


for _kind, (_pattern, _first) in _CORE.items():
    PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first)
