"""May we still write? Asked before every write (invariant I4: none after the lease's renew deadline)."""

import math
from collections.abc import Callable

from reconciler.runtime.errors import Stale

Fence = Callable[[], float]
"""Seconds of leadership that are left. Raises NotLeader when there are none."""


class NotLeader(Stale):
    """Another replica may be leading by now: what was decided must not be written."""


def unfenced() -> float:
    """For a program that runs alone, such as `gpu-reconciler once`."""
    return math.inf
