"""Which NodePools, NodeOverlays and nodes does this file hold? What kubectl wrote, without a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from reconciler.kube import node_pools, overlays
from reconciler.kube.node_pools import NodePoolWire
from reconciler.kube.offline import UNREADABLE, UnreadableFile, items_of, kind_of, line_of, telling
from reconciler.kube.overlays import OverlayWire
from reconciler.kube.parse import NodeParser
from reconciler.kube.trouble import Report
from reconciler.kube.wire import NodeWire
from reconciler.model.node import NodeView
from reconciler.model.node_pool import NodePoolView
from reconciler.model.overlay import OverlayView

HINT = "expected the output of: kubectl get nodepools,nodeoverlays,nodes -o json"

_POOL = msgspec.json.Decoder(NodePoolWire)
_OVERLAY = msgspec.json.Decoder(OverlayWire)
_NODE = msgspec.json.Decoder(NodeWire)


@dataclass(frozen=True, slots=True)
class OverlayDump:
    """What the file holds, in its order. Nodes are not needed: they only tell where a figure fell short."""

    pools: Sequence[NodePoolView]
    overlays: Sequence[OverlayView]
    nodes: Sequence[NodeView]


def read(content: bytes, report: Report) -> OverlayDump:
    """Odd fields are told and stepped over as with a live cluster. Raises UnreadableFile."""
    pools: list[NodePoolView] = []
    found: list[OverlayView] = []
    nodes: list[NodeView] = []
    parse_node, position = NodeParser(), 0
    for raw in items_of(content, ("NodePool", "NodeOverlay", "Node"), HINT):
        one = bytes(raw)
        position = content.index(one, position)
        try:
            match kind_of(one):
                case "NodePool":
                    pool = _POOL.decode(one)
                    pools.append(node_pools.parse(pool, telling(report, "NodePool", pool.metadata.name)))
                case "NodeOverlay":
                    overlay = _OVERLAY.decode(one)
                    found.append(overlays.parse(overlay, telling(report, "NodeOverlay", overlay.metadata.name)))
                case "Node":
                    node = _NODE.decode(one)
                    nodes.append(parse_node(node, telling(report, "Node", node.metadata.name)))
                case _:
                    pass
        except UNREADABLE as error:
            raise UnreadableFile(f"line {line_of(content, position)}: {error}; {HINT}") from None
        position += len(one)
    return OverlayDump(pools, found, nodes)
