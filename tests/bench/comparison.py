"""What is a figure of this house? Ours, a named rival's, and their ratio; as a line for people and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any


class NotHere(Exception):
    """This benchmark cannot be run on this machine; the text says why and what to do."""


class Better(Enum):
    """Which way the ratio is read."""

    TIMES_LESS = "rival / ours"
    TIMES_MORE = "ours / rival"
    COST_OF = "cost: ours / rival"
    """How much dearer we are than the least it can cost; less is better."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`expected`: the least ratio that will do, or the greatest for COST_OF. None: no promise at this scale."""

    name: str
    ours: float
    rival: float
    unit: str
    rival_name: str
    better: Better
    scale: str
    expected: float | None = None
    bound: float | None = None
    """The most that `ours` itself may be, in `unit`."""

    @property
    def ratio(self) -> float:
        """Raises ZeroDivisionError where one side measured nothing at all."""
        return self.rival / self.ours if self.better is Better.TIMES_LESS else self.ours / self.rival

    @property
    def holds(self) -> bool:
        """Whether all that is promised is so."""
        if self.bound is not None and self.ours > self.bound:
            return False
        if self.expected is None:
            return True
        return self.ratio <= self.expected if self.better is Better.COST_OF else self.ratio >= self.expected

    def line(self) -> str:
        """One row of the table."""
        promises = []
        if self.expected is not None:
            promises.append(f"{'at most' if self.better is Better.COST_OF else 'at least'} {self.expected:g}x")
        if self.bound is not None:
            promises.append(f"ours at most {self.bound:g} {self.unit}")
        verdict = f"{'holds' if self.holds else 'MISSED'}: {' and '.join(promises)}" if promises else "no promise"
        return (
            f"{self.name:34} {self.ratio:8.4g}x  ours {self.ours:9.4g}, {self.rival_name} {self.rival:9.4g} {self.unit}"
            f"  [{self.scale}]  {verdict}"
        )

    def fields(self) -> dict[str, Any]:
        """The entry of build/bench.json."""
        return {
            "ours": self.ours,
            "rival": self.rival,
            "ratio": self.ratio,
            "unit": self.unit,
            "rival_name": self.rival_name,
            "ratio_is": self.better.value,
            "scale": self.scale,
            "expected": self.expected,
            "bound": self.bound,
            "holds": self.holds,
        }


def write(comparisons: Sequence[Comparison], file: Path) -> None:
    """Exactly what was measured in this run, and nothing of earlier ones."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({one.name: one.fields() for one in comparisons}, indent=2) + "\n")
