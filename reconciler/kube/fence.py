"""May we still write? Asked before every write (invariant I4: none after the lease's renew deadline)."""

import math
from collections.abc import Callable
from dataclasses import replace

from reconciler.kube.errors import ask
from reconciler.runtime.errors import Stale
from reconciler.runtime.transport import Request, Response, Transport

LONGEST_WRITE = 10.0
"""Seconds. A write that takes longer is given up, and tried anew from a fresh look."""

Fence = Callable[[], float]
"""Seconds of leadership that are left. Raises NotLeader when there are none."""


class NotLeader(Stale):
    """Another replica may be leading by now: what was decided must not be written."""


def unfenced() -> float:
    """For a program that runs alone, such as `gpu-reconciler once`."""
    return math.inf


async def send(transport: Transport, fence: Fence, request: Request) -> Response:
    """Write while we may: no longer than leadership lasts. Raises NotLeader and what `ask` raises."""
    return await ask(transport, replace(request, timeout=min(request.timeout, LONGEST_WRITE, fence())))
