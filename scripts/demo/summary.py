"""What came of it? A table of the nodes, the measured figures, and whether all claims were true."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reconciler.model.probe_state import Probed
from reconciler.model.quantity import MIB
from reconciler.model.record import CapacityRecord
from scripts.demo.calls import in_words
from scripts.demo.company import Company
from scripts.demo.fleet import EVERYONE
from scripts.demo.overlays import in_short
from scripts.demo.story import Results
from scripts.demo.telling import Telling


def summary(company: Company, results: Results, telling: Telling) -> RenderableType:
    """The end of the demo."""
    rows: list[RenderableType] = [Text(), nodes(company), Text()]
    seconds = "not measured" if results.first_figure is None else f"{1000 * results.first_figure:.0f} ms"
    healing = "not measured" if results.heal_seconds is None else f"{1000 * results.heal_seconds:.0f} ms"
    figures = {
        "a join": f"{seconds} and {results.first_calls} API call(s) until the memory was schedulable; "
        f"in all {len(results.join)} calls: {in_words(results.join)}",
        "healing": f"{healing} after the kubelet's zero was seen, by {in_words(results.heal)}",
        "pods": f"{results.running} run by memory and {results.waiting} wait for room",
        "Karpenter": "; ".join(in_short(one) for one in company.board.overlays()) or "was told nothing",
        "claims": f"{telling.kept} looked at and true" + (f", {len(telling.broken)} NOT" if telling.broken else ""),
    }
    for name, text in figures.items():
        rows.append(Text.assemble((f"{name + ':':11}", "bold"), text))
    rows += [Text(f"NOT SO: {broken}", "bold red") for broken in telling.broken]
    return Group(*rows)


def nodes(company: Company) -> Table:
    """Every figure with its source, node by node."""
    table = Table(box=None, pad_edge=False)
    table.add_column("node", no_wrap=True)
    table.add_column("type", no_wrap=True)
    for name in ("EC2 MiB", "NVML MiB", "advertised", "pods", "slots"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("source", "reason", "profile", "sharing"):
        table.add_column(name)
    explanations = company.explanations()
    for member in EVERYONE:
        explanation = explanations.get(member.name)
        if explanation is None:
            continue
        board = company.board
        record, mib = board.record(member.name), board.mib(member.name)
        held, offered = board.slots(member.name)
        sharing = board.sharing(member.name)
        table.add_row(
            member.name,
            member.kind,
            _number(record.ec2_mib if record is not None else None),
            _number(_nvml_mib(record)),
            _number(mib),
            str(len(board.pods_on(member.name))),
            f"{held}/{offered}",
            explanation.source.value,
            explanation.reason.value,
            board.profile(member.name) or "-",
            sharing.reason if sharing is not None else "-",
        )
    return table


def _nvml_mib(record: CapacityRecord | None) -> int | None:
    match record.probe if record is not None else None:
        case Probed(report):
            totals = [gpu.total // MIB for gpu in report.readable if gpu.total is not None]
            return max(totals, default=None)
        case _:
            return None


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
