"""How does it look? Nodes as bars of memory held and advertised, their slots, overlays, and the newest sentences."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from reconciler.model.node import NodeView
from reconciler.model.overlay import OverlayView
from reconciler.model.record import Source
from scripts.demo.company import Company
from scripts.demo.fleet import EVERYONE
from scripts.demo.overlays import told, where
from scripts.demo.telling import Line, Telling

BAR = 24
NARROW = 128
"""Below so many columns bars are short and the source is told by their colour alone."""
LOW = 30
"""Below so many lines there is room for nodes and sentences only."""
_COLOURS = {Source.NVML: "green", Source.NONE: "bright_black"}
_UNPROVEN = "yellow"
_HELD = "magenta"


def view(company: Company, telling: Telling, width: int, height: int) -> RenderableType:
    """The whole picture, which is at most `width` columns and `height` lines large."""
    places = {member.name: place for place, member in enumerate(EVERYONE)}
    nodes = sorted(company.board.nodes.all(), key=lambda node: (places.get(node.name, len(places)), node.name))
    title = f"{company.board.resource} on {company.stage.title}, {telling.seconds:.0f} s"
    shown: list[RenderableType] = [_nodes(company, nodes, narrow=width < NARROW)]
    left = height - len(nodes) - 3
    overlays = company.board.overlays()
    if overlays and height >= LOW:
        shown += [Text(), _overlays(overlays)]
        left -= len(overlays) + 2
    return Group(Panel(Group(*shown), title=title, border_style="cyan"), *_log(telling.lines, width, max(3, left)))


def _nodes(company: Company, nodes: Sequence[NodeView], *, narrow: bool) -> Table:
    """One line a node. Bars have one scale, so that a small GPU is a short bar."""
    board, explanations = company.board, company.explanations()
    table = Table(box=None, expand=True, pad_edge=False)
    for name in ("node", "type"):
        table.add_column(name, no_wrap=True)
    table.add_column(Text.assemble(("held", _HELD), " of ", ("advertised", _COLOURS[Source.NVML])), no_wrap=True)
    for name in ("MiB", "pods", "slots"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("profile", no_wrap=True)
    if not narrow:
        table.add_column("source", no_wrap=True)
    table.add_column("reason", no_wrap=True)
    largest = max((board.mib(node.name) or 0 for node in nodes), default=0)
    for node in nodes:
        explanation, record = explanations.get(node.name), board.record(node.name)
        mib, held = board.mib(node.name), board.requested_mib(node.name)
        source = record.source if record is not None else Source.NONE
        colour = _COLOURS.get(source, _UNPROVEN)
        reasons = [explanation.reason.value if explanation is not None else ""]
        sharing = board.sharing(node.name)
        if sharing is not None and sharing.status != "True":
            reasons.append(sharing.reason)
        taken, offers = board.slots(node.name)
        cells: list[RenderableType] = [
            Text(node.name, "dim" if node.has_startup_taint else "bold"),
            str(node.instance_type or ""),
            _bar(mib, held, largest, BAR // 2 if narrow else BAR, colour),
            "-" if mib is None else f"{held}/{mib}",
            f"{len(board.pods_on(node.name))}/{node.allocatable.get('pods', 0)}",
            f"{taken}/{offers}",
            board.profile(node.name),
            Text(source.value, colour),
            ", ".join([*reasons, *(["closed"] if node.has_startup_taint else [])]),
        ]
        if narrow:
            del cells[7]
        table.add_row(*cells)
    return table


def _overlays(overlays: Sequence[OverlayView]) -> Table:
    """What Karpenter is told, one line an overlay."""
    table = Table(box=None, pad_edge=False)
    for name in ("NodeOverlay", "tells Karpenter", "of"):
        table.add_column(name, no_wrap=True)
    for one in overlays:
        table.add_row(one.name, told(one), where(one))
    return table


def _bar(mib: int | None, held: int, largest: int, size: int, colour: str) -> Text:
    """What pods hold, then what is left of what is advertised."""
    if not mib or largest < 1:
        return Text("0!" if mib == 0 else "", "bold red")
    whole = max(1, round(size * mib / largest))
    taken = min(whole, round(whole * held / mib))
    return Text.assemble(("█" * taken, _HELD), ("█" * (whole - taken), colour))


def _log(lines: Sequence[Line], width: int, rows: int) -> Sequence[Text]:
    """The newest lines that there is room for, long ones folded."""
    shown: list[Text] = []
    for line in reversed(lines):
        text = Text(f"{line.seconds:5.1f}  {line.text}", line.style)
        rows -= -(-len(text) // width)
        if rows < 0:
            break
        shown.append(text)
    return shown[::-1]
