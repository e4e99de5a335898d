"""How does a blocking call run beside the event loop, and never hold up the end of the process?

Python waits at its end for the threads of anyio's pool. With an EC2 that does not answer that is the time limit of a
call, times its attempts: longer than Kubernetes waits between SIGTERM and SIGKILL.
"""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

T = TypeVar("T")


async def in_thread(work: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    """What `work` returns or raises. A cancelled caller does not wait for it, and nor does the end of the process."""
    future: Future[T] = Future()
    ended, loop = anyio.Event(), anyio.lowlevel.current_token()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        with contextlib.suppress(anyio.RunFinishedError):
            anyio.from_thread.run_sync(ended.set, token=loop)

    async with limiter:
        threading.Thread(target=run, name="aws", daemon=True).start()
        await ended.wait()
    return future.result()
