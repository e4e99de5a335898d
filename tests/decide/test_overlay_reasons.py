"""model/overlay.py: the closed list of reasons."""

from pathlib import Path

from reconciler.model.overlay import OverlayReason

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "karpenter.md"


def test_every_reason_is_produced_by_a_table() -> None:
    tables = "".join(path.read_text() for path in HERE.glob("test_overlay*.py") if path != Path(__file__))
    assert [reason for reason in OverlayReason if f"OverlayReason.{reason.name}" not in tables] == []


def test_every_reason_has_its_row_on_the_page() -> None:
    rows = {line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")}
    assert {reason.value for reason in OverlayReason} <= rows
