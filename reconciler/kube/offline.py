"""Which nodes and pods does this file hold? What `kubectl get nodes,pods -A -o json` wrote, without a cluster.

For the decision on sharing it may hold more: `kubectl get nodes,pods,configmaps,nodepools,nodeclaims -A -o json`.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import Raw, Struct

from reconciler.kube import node_pools
from reconciler.kube.node_pools import NodePoolWire
from reconciler.kube.parse import NodeParser, Odd, node_claim
from reconciler.kube.plugin_offline import PluginObjects
from reconciler.kube.plugin_place import PluginPlace
from reconciler.kube.pods import PodParser
from reconciler.kube.trouble import Report, Trouble
from reconciler.kube.wire import ClaimWire, NodeWire, PageOf, PodWire
from reconciler.model.node import NodeClaimView, NodeView
from reconciler.model.node_pool import NodePoolView
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig
from reconciler.model.workload import PodView


class UnreadableFile(Exception):
    """The file is not what kubectl writes; the text names the line and what to do."""


@dataclass(frozen=True, slots=True)
class Dump:
    """What the file holds, in its order."""

    nodes: list[NodeView] = field(default_factory=list)
    pods: list[PodView] = field(default_factory=list)
    pools: list[NodePoolView] = field(default_factory=list)
    claims: list[NodeClaimView] = field(default_factory=list)
    plugin_config: PluginConfig | None = None
    """The device plugin's ConfigMap."""
    plugin_pods: Sequence[PluginPod] = ()
    config_maps: bool = False
    """Whether the file holds any ConfigMap at all; where not, that of the plugin may well be in the cluster."""


class _Kind(Struct):
    kind: str | None = None


_PAGE = msgspec.json.Decoder(PageOf[Raw])
_BRACKETS_AND_TEXTS = re.compile(rb'[][{}]|"(?:[^"\\]|\\.)*"')
_KIND = msgspec.json.Decoder(_Kind)
_NODE = msgspec.json.Decoder(NodeWire)
_POD = msgspec.json.Decoder(PodWire)
_POOL = msgspec.json.Decoder(NodePoolWire)
_CLAIM = msgspec.json.Decoder(ClaimWire)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""RecursionError is msgspec's word for a thousand nested brackets."""

_HINT = "expected the output of: kubectl get nodes,pods -A -o json"


def read(content: bytes, report: Report, plugin: PluginPlace | None = None) -> Dump:
    """All there is. Odd fields are told and stepped over as with a live cluster; raises UnreadableFile.

    `plugin` None: nothing is looked for that is the device plugin's.
    """
    reading = _Reading(report, plugin)
    position = 0
    for raw in items_of(content, ("Node", "Pod"), _HINT):
        one = bytes(raw)
        position = content.index(one, position)
        try:
            reading.take(kind_of(one), one)
        except UNREADABLE as error:
            raise UnreadableFile(f"line {line_of(content, position)}: {error}; {_HINT}") from None
        position += len(one)
    return reading.dump()


class _Reading:
    def __init__(self, report: Report, plugin: PluginPlace | None) -> None:
        self._report = report
        self._node, self._pod = NodeParser(), PodParser()
        self._plugin = PluginObjects(plugin, report) if plugin is not None else None
        self._found = Dump()
        self._config_maps = False

    def take(self, kind: str | None, raw: bytes) -> None:
        """Raises what UNREADABLE lists."""
        found, plugin = self._found, self._plugin
        match kind:
            case "Node":
                node = _NODE.decode(raw)
                found.nodes.append(self._node(node, telling(self._report, kind, node.metadata.name)))
            case "Pod":
                pod = _POD.decode(raw)
                view = self._pod(pod, telling(self._report, kind, pod.metadata.name))
                found.pods.extend([view] if view is not None else [])
                if plugin is not None:
                    plugin.pod(raw)
            case "ConfigMap" if plugin is not None:
                self._config_maps = True
                plugin.config_map(raw)
            case "NodePool":
                pool = _POOL.decode(raw)
                found.pools.append(node_pools.parse(pool, telling(self._report, kind, pool.metadata.name)))
            case "NodeClaim":
                claim = _CLAIM.decode(raw)
                found.claims.append(node_claim(claim, telling(self._report, kind, claim.metadata.name)))
            case _:
                pass

    def dump(self) -> Dump:
        plugin = self._plugin
        if plugin is None:
            return self._found
        return replace(
            self._found, plugin_config=plugin.config, plugin_pods=tuple(plugin.pods), config_maps=self._config_maps
        )


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
