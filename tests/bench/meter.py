"""What did it cost? CPU, memory and the event loop's longest pause, from a mark in the program until now.

A pause is the time that the loop did not turn, less the time that its thread was ready to run and other programs had
the processors: what a busy machine adds is not ours, and without this no figure could be compared with another's.
"""

import asyncio
import os
import re
import resource
import time
from dataclasses import dataclass
from pathlib import Path

TICK = 0.01
"""Seconds between two turns of the watcher of the event loop."""

LEAST_STALL = 0.001
LEAST_MEMORY = 4096
"""What can be told from nothing: seconds of sleeping too long, and a page."""

_SELF = Path("/proc/self")


@dataclass(frozen=True, slots=True)
class Cost:
    """`cpu`, `stall` and `wall` in seconds; `cpu` is user and system, of all threads; `memory` is the peak in bytes."""

    cpu: float
    memory: int
    stall: float
    wall: float


class Meter:
    """Begins when it is made; whatever was imported before does not count."""

    def __init__(self) -> None:
        (_SELF / "clear_refs").write_text("5")  # VmHWM begins anew (proc(5))
        self._base = _status("VmRSS")
        self._cpu = _cpu()
        self._begun = time.monotonic()
        self._stall = 0.0
        self._schedule = os.open(_SELF / "schedstat", os.O_RDONLY)
        self._last = self._begun - self._waited()
        self._watcher = asyncio.create_task(self._watch())

    def read(self) -> Cost:
        """The cost so far; the event loop is no longer watched."""
        self._watcher.cancel()
        self._turned()
        os.close(self._schedule)
        wall = time.monotonic() - self._begun
        memory = max(_status("VmHWM") - self._base, LEAST_MEMORY)
        return Cost(_cpu() - self._cpu, memory, max(self._stall, LEAST_STALL), wall)

    async def _watch(self) -> None:
        while True:
            self._turned()
            await asyncio.sleep(TICK)

    def _turned(self) -> None:
        """The event loop turns; or has come to the end of what is measured, perhaps after a long turn."""
        now = time.monotonic() - self._waited()
        self._stall = max(self._stall, now - self._last - TICK)
        self._last = now

    def _waited(self) -> float:
        """Seconds that the main thread was ready and had no processor (scheduler/sched-stats in the kernel's docs)."""
        return int(os.pread(self._schedule, 100, 0).split()[1]) / 1e9


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _status(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", (_SELF / "status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
