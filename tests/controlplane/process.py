"""How does a program of the control plane run beside the tests, and never outlive them?"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

# Reads "+GROUP" and "-GROUP" lines and kills the groups that are left once its input ends. That happens even when
# the test process is killed with SIGKILL, where atexit does not run. (PR_SET_PDEATHSIG would be shorter, but it
# fires when the *thread* that started the child ends.)
_REAPER = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class Died(RuntimeError):
    """A program ended by itself; the text holds the end of its log."""


class Process:
    """One program in a process group of its own, its output in a file."""

    def __init__(self, argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env} if env else None,
                start_new_session=True,
            )
        self._tell_reaper("+")

    def check(self) -> None:
        """Raise `Died` if the program is not running any more."""
        if (status := self._child.poll()) is not None:
            tail = self.log.read_text(errors="replace")[-3000:]
            raise Died(f"{self._child.args!r} ended with status {status}; the end of {self.log}:\n{tail}")

    def stop(self, grace: float = 0.0) -> None:
        """SIGTERM and `grace` seconds, then SIGKILL for the whole group."""
        if self._child.poll() is None and grace > 0:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(grace)
        self.kill()

    def kill(self) -> None:
        """SIGKILL for the whole group, now: how a program dies with its machine."""
        self._signal(signal.SIGKILL)
        self._child.wait()
        self._tell_reaper("-")

    def pause(self) -> None:
        """Hold the program still: it stays connected and says nothing more, like a machine that hangs."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused program go on."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)

    def _tell_reaper(self, sign: str) -> None:
        _reaper_input().write(f"{sign}{self._child.pid}\n")


@cache
def _reaper_input() -> IO[str]:
    reaper = subprocess.Popen([sys.executable, "-c", _REAPER], stdin=subprocess.PIPE, text=True, start_new_session=True)
    assert reaper.stdin is not None
    reaper.stdin.reconfigure(line_buffering=True)  # type: ignore[attr-defined]  # a pipe in text mode is a TextIOWrapper

    def close() -> None:
        assert reaper.stdin is not None
        reaper.stdin.close()
        reaper.wait()

    atexit.register(close)
    return reaper.stdin


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
