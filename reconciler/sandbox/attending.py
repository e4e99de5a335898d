"""How does a controller live? It mirrors what it cares about and goes over all of it whenever something changed."""

from collections.abc import Awaitable, Callable, Sequence

from reconciler.runtime.transport import TransportError
from reconciler.sandbox.client import Rejected
from reconciler.sandbox.mirror import Bell, Mirror

_AGAIN = 0.5
"""Seconds to wait after a refused write before going over everything again."""


async def attend(bell: Bell, mirrors: Sequence[Mirror], work: Callable[[], Awaitable[float | None]]) -> None:
    """Run `work` once and after each change, for ever. It says in how many seconds it wants to run in any case."""
    for mirror in mirrors:
        await mirror.synced.wait()
    while True:
        try:
            wanted = await work()
        except (Rejected, TransportError):
            wanted = _AGAIN  # somebody else was quicker, or the server is away: look again
        await bell.wait(wanted)
