"""How is a story told? On virtual time, to its end or for so long, and with its own failure if it fails."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec

import anyio

from reconciler.sandbox.clock import run_virtual

LONGEST = 12 * 3600.0
"""Virtual seconds: a story that waits for something that never comes must end."""

P = ParamSpec("P")


def virtual(story: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a story on virtual time: hours pass in no time, and the order of things is the same each time."""

    @functools.wraps(story)
    def test(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            with anyio.fail_after(LONGEST):
                await story(*args, **kwargs)

        run_virtual(bounded)

    return test


@asynccontextmanager
async def plainly() -> AsyncIterator[None]:
    """A failed story shows its own failure, and not the task groups that it went through."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None
