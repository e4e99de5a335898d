"""How large is the measured cluster? The promises are about the full size; a ratio is always of one size alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Objects of the first sync, and how much is done in the other benchmarks."""

    name: str
    nodes: int
    pods: int
    events: int
    patches: int
    rounds: int = 3

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes + {self.pods:,} pods"


FULL = Scale("full", 5_000, 150_000, 30_000, 4_000)
TENTH = Scale("tenth", 500, 15_000, 30_000, 4_000)
TINY = Scale("tiny", 6, 60, 100, 40, rounds=1)
"""Shows that the machinery runs; its ratios say nothing."""
