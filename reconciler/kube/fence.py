"""May we still write? Asked before every write (invariant I4: none after the lease's renew deadline)."""

import math
from collections.abc import Callable
from dataclasses import replace

from reconciler.kube.errors import Exists, ask
from reconciler.runtime.errors import Gone, Rejected, Stale
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


async def create(transport: Transport, fence: Fence, request: Request, *, homeless: str) -> bool:
    """A POST of something whose name says all; False: one of that name is there already, and is the one that is meant.

    Raises what `send` raises. Where there is no place for it that is a fault of the set-up: Rejected, and not Gone, in
    the words of `homeless`.
    """
    try:
        await send(transport, fence, request)
    except Exists:
        return False
    except Gone as error:
        raise Rejected(f"{error}: {homeless}") from error
    return True


async def send(transport: Transport, fence: Fence, request: Request) -> Response:
    """Write while we may: no longer than leadership lasts. Raises NotLeader and what `ask` raises."""
    return await ask(transport, replace(request, timeout=min(request.timeout, LONGEST_WRITE, fence())))
