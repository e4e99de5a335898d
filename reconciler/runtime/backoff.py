"""How long until the next try?"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubling waits with full jitter on the upper half. `random` gives numbers in [0, 1)."""

    random: Callable[[], float]
    first: float = 0.5
    """Seconds before the first retry."""
    longest: float = 60.0

    def wait(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row (at least one)."""
        whole = min(self.longest, self.first * 2.0 ** min(failures - 1, 32))
        return whole * (0.5 + self.random() / 2)
