"""decide/advice.py: every answer without figures tells what to do, in words that fit into a sentence."""

import pytest

from reconciler.decide import advice
from reconciler.model.probe_report import ProbeReason


@pytest.mark.parametrize("reason", list(ProbeReason))
def test_every_reason_of_a_probe_has_its_advice(reason: ProbeReason) -> None:
    text = advice.of(reason)

    assert text
    assert not text.endswith(".")
    assert text[0] == text[0].lower() or text.startswith(("NVML", "MIG"))


def test_foreign_texts_are_put_on_one_line_and_cut() -> None:
    assert advice.cut(" a\n\tb ") == "a b"
    assert len(advice.cut("word " * 500)) == advice.LONGEST
