"""Which nodes and pods does this file hold? What `kubectl get nodes,pods -A -o json` wrote, without a cluster."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw, Struct

from reconciler.kube.parse import NodeParser, Odd
from reconciler.kube.pods import PodParser
from reconciler.kube.trouble import Report, Trouble
from reconciler.kube.wire import NodeWire, PageOf, PodWire
from reconciler.model.node import NodeView
from reconciler.model.workload import PodView


class UnreadableFile(Exception):
    """The file is not what kubectl writes; the text names the line and what to do."""


@dataclass(frozen=True, slots=True)
class Dump:
    """What the file holds, in its order."""

    nodes: Sequence[NodeView]
    pods: Sequence[PodView]


class _Kind(Struct):
    kind: str | None = None


_PAGE = msgspec.json.Decoder(PageOf[Raw])
_BRACKETS_AND_TEXTS = re.compile(rb'[][{}]|"(?:[^"\\]|\\.)*"')
_KIND = msgspec.json.Decoder(_Kind)
_NODE = msgspec.json.Decoder(NodeWire)
_POD = msgspec.json.Decoder(PodWire)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""RecursionError is msgspec's word for a thousand nested brackets."""

_HINT = "expected the output of: kubectl get nodes,pods -A -o json"


def read(content: bytes, report: Report) -> Dump:
    """All nodes and pods. Odd fields are told and stepped over as with a live cluster; raises UnreadableFile."""
    items = items_of(content, ("Node", "Pod"), _HINT)
    parse_node, parse_pod = NodeParser(), PodParser()
    nodes: list[NodeView] = []
    pods: list[PodView] = []
    position = 0
    for raw in items:
        one = bytes(raw)
        position = content.index(one, position)
        try:
            kind = kind_of(one)
            if kind == "Node":
                node = _NODE.decode(one)
                nodes.append(parse_node(node, telling(report, "Node", node.metadata.name)))
            elif kind == "Pod":
                pod = _POD.decode(one)
                view = parse_pod(pod, telling(report, "Pod", pod.metadata.name))
                pods += [view] if view is not None else []
        except UNREADABLE as error:
            raise UnreadableFile(f"line {line_of(content, position)}: {error}; {_HINT}") from None
        position += len(one)
    return Dump(nodes, pods)


def items_of(content: bytes, kinds: Collection[str], hint: str) -> list[Raw]:
    """A list's items, or the one object of these kinds that the file holds. Raises UnreadableFile."""
    if not content.strip():
        raise UnreadableFile(f"line 1: the file is empty; {hint}")
    try:
        content.decode()
        if kind_of(content) in kinds:
            return [Raw(content)]
        page = _PAGE.decode(content)
    except UNREADABLE as error:
        raise UnreadableFile(f"line {line_of(content, _offset(error, content))}: {error}; {hint}") from None
    if page.items is None:
        raise UnreadableFile(f"line 1: there is no list of items; {hint}")
    return page.items


def kind_of(content: bytes) -> str | None:
    """The kind that the object names. Raises what UNREADABLE lists."""
    return _KIND.decode(content).kind


def _offset(error: Exception, content: bytes) -> int:
    """Where the text stops being JSON: msgspec says it in words only, and at the end when it is cut off."""
    if isinstance(error, UnicodeDecodeError):
        return error.start
    if isinstance(error, RecursionError):
        return _deepest(content)
    _, found, position = str(error).rpartition("(byte ")
    return int(position.rstrip(")")) if found else len(content) if "truncated" in str(error) else 0


def _deepest(content: bytes) -> int:
    """Where brackets first stand as deep as any."""
    deepest = depth = offset = 0
    for found in _BRACKETS_AND_TEXTS.finditer(content):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
        if depth > deepest:
            deepest, offset = depth, found.start()
    return offset


def line_of(content: bytes, offset: int) -> int:
    """The line that this byte is on, counted from 1."""
    return content.count(b"\n", 0, offset) + 1


def telling(report: Report, kind: str, name: str) -> Odd:
    """Tell what is odd about one object."""
    return lambda why: report(Trouble(kind, name, why))
