"""docs/verify.md: every step in its order, each with what it means and when it fails."""

import re
from pathlib import Path

from reconciler.model import names
from reconciler.model.verification import StepName, VerifyReason

PAGE = (Path(__file__).parents[2] / "docs" / "verify.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_the_page_lists_every_step_in_the_order_in_which_they_are_looked_at() -> None:
    rows = ROW.findall(PAGE)
    assert [name for name, _, _ in rows] == [step.value for step in StepName]
    assert all(len(meaning) > 10 and len(fails) > 20 for _, meaning, fails in rows)


def test_the_page_names_the_annotation_and_the_events() -> None:
    assert names.VERIFIED in PAGE
    assert all(f"`{reason.value}`" in PAGE for reason in VerifyReason)
