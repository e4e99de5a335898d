"""docs/sharing.md: the closed list of reasons for sharing, each with its condition and what to do."""

import re
from pathlib import Path

from reconciler.decide.sharing_answer import FOLLOWS, UNSAID, WARNINGS
from reconciler.model.reasons import SharingReason

PAGE = Path(__file__).parents[2] / "docs" / "sharing.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, ...]]:
    return {name: tuple(cell.strip() for cell in cells) for name, *cells in ROW.findall(PAGE.read_text())}


def test_the_page_lists_every_reason_and_no_other_in_the_order_of_the_code() -> None:
    assert list(rows()) == [reason.value for reason in SharingReason]


def test_the_page_tells_the_status_of_the_condition() -> None:
    for reason in SharingReason:
        status = "True" if reason in FOLLOWS else "none" if reason in UNSAID else "False"

        assert rows()[reason.value][0] == status


def test_the_page_tells_which_events_are_warnings() -> None:
    for reason in SharingReason:
        event = "Warning" if reason in WARNINGS else "none" if reason in UNSAID else "Normal"

        assert rows()[reason.value][1] == event


def test_every_reason_says_what_to_do() -> None:
    assert all(len(cells[3]) > 3 for cells in rows().values())
