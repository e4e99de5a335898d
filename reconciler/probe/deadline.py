"""What ends the probe when the driver never answers? A thread: a call into a wedged driver cannot be interrupted."""

import signal
import threading
from collections.abc import Callable


def watch(seconds: float, on_end: Callable[[str], object]) -> None:
    """Call `on_end` with the reason, from another thread, after `seconds` or on SIGTERM; must run in the main thread.

    The kubelet sends SIGTERM when the Job's own deadline has passed. A Python signal handler would only run once the
    hanging call returns, so the signal is blocked and the thread waits for it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_wait, args=(seconds, on_end), name="deadline", daemon=True).start()


def _wait(seconds: float, on_end: Callable[[str], object]) -> None:
    stopped = signal.sigtimedwait({signal.SIGTERM}, seconds) is not None
    on_end("stopped from outside" if stopped else f"no answer within {seconds:g} s")
