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
NARROW, TINY = 128, 104
"""Below NARROW columns bars are short and the source is told by their colour alone; below TINY what else can be spared
goes."""
_RIGHT = ("MiB", "pods", "slots")
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
    shown: list[RenderableType] = [_nodes(company, nodes, width)]
    left = height - len(nodes) - 3
    overlays = company.board.overlays()
    if overlays and height >= LOW:
        shown += [Text(), _overlays(overlays)]
        left -= len(overlays) + 2
    return Group(Panel(Group(*shown), title=title, border_style="cyan"), *_log(telling.lines, width, max(3, left)))


def _nodes(company: Company, nodes: Sequence[NodeView], width: int) -> Table:
    """One line a node. Bars have one scale, so that a small GPU is a short bar."""
    board, explanations = company.board, company.explanations()
    spared = {"source"} if width < NARROW else set()
    spared |= {"type", "pods"} if width < TINY else set()
    headers = {"bar": Text.assemble(("held", _HELD), " of ", ("advertised", _COLOURS[Source.NVML]))}
    table = Table(box=None, expand=True, pad_edge=False)
    columns = ("node", "type", "bar", "MiB", "pods", "slots", "profile", "source", "reason")
    shown = [name for name in columns if name not in spared]
    for name in shown:
        table.add_column(headers.get(name, name), justify="right" if name in _RIGHT else "left", no_wrap=True)
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
        cells: dict[str, RenderableType] = {
            "node": Text(node.name, "dim" if node.has_startup_taint else "bold"),
            "type": str(node.instance_type or ""),
            "bar": _bar(mib, held, largest, BAR // 2 if width < NARROW else BAR, colour),
            "MiB": "-" if mib is None else f"{held}/{mib}",
            "pods": f"{len(board.pods_on(node.name))}/{node.allocatable.get('pods', 0)}",
            "slots": f"{taken}/{offers}",
            "profile": board.profile(node.name),
            "source": Text(source.value, colour),
            "reason": ", ".join([*reasons, *(["closed"] if node.has_startup_taint else [])]),
        }
        table.add_row(*(cells[name] for name in shown))
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
