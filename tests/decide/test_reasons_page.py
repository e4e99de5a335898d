"""docs/reasons.md: the closed list of reasons, each with its condition and what to do."""

import re
from pathlib import Path

from reconciler.decide.verdict import WARNINGS
from reconciler.model.probe_report import ProbeReason
from reconciler.model.reasons import Reason
from tests.decide.test_capacity_table import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "reasons.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, ...]]:
    return {name: tuple(cell.strip() for cell in cells) for name, *cells in ROW.findall(PAGE.read_text())}


def test_the_page_lists_every_reason_and_no_other_in_the_order_of_the_code() -> None:
    assert list(rows()) == [reason.value for reason in Reason]


def test_the_page_tells_the_status_of_the_condition() -> None:
    """Compared with what the decision table writes, where it has a row for the reason."""
    for row in ROWS:
        status = rows()[row.reason.value][0]
        written = ("False" if row.mib is None else "True") if "Advertise" in row.actions else "none"

        assert written in status.replace(",", " ").split(), row.name


def test_the_page_tells_which_events_are_warnings() -> None:
    assert {name for name, cells in rows().items() if cells[1] == "Warning"} == {reason.value for reason in WARNINGS}


def test_every_reason_says_what_to_do() -> None:
    assert all(len(cells[3]) > 3 for cells in rows().values())


def test_the_page_lists_every_answer_of_a_probe_without_figures() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (NoNVML|Unverified) \|", PAGE.read_text(), re.MULTILINE)

    assert [name for name, _ in listed] == [reason.value for reason in ProbeReason]
