"""decide/advice.py: every answer without figures tells what to do."""

import pytest

from reconciler.decide import advice
from reconciler.model.probe_report import ProbeReason


@pytest.mark.parametrize("reason", list(ProbeReason))
def test_every_reason_of_a_probe_has_its_advice(reason: ProbeReason) -> None:
    text = advice.of(reason)

    assert text
    assert not text.endswith(".")
    assert text[0] == text[0].lower() or text.startswith(("NVML", "MIG"))
