"""How does a kubelet really run the probe? As a process of this machine, with the node's environment."""

import os
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, STDOUT

import anyio

import reconciler
from reconciler.sandbox.programs import Exit, Pretend, Work

TERMINATION_LOG = "GPU_PROBE_TERMINATION_LOG"
"""The variable that tells the program where its termination log is; in a real pod it is /dev/termination-log."""

_ROOT = Path(reconciler.__file__).parents[1]
_LOG_BYTES = 2048
"""How much of the log the kubelet takes for a message where terminationMessagePolicy falls back to it."""


class Processes(Pretend):
    """Like Pretend, but containers whose command is the probe are run. Needs a real clock.

    Variables of this process that begin with one of `hidden` are not handed on.
    """

    def __init__(self, *, hidden: tuple[str, ...] = ("NVML_DOUBLE_", "GPU_PROBE_", "LD_LIBRARY_PATH")) -> None:
        super().__init__()
        self._hidden = hidden

    async def run(self, work: Work) -> Exit:
        if not work.is_probe:
            return await super().run(work)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(self._hidden)}
        command = [sys.executable if Path(word).name.startswith("python") else word for word in work.words]
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "termination-log"
            done = await anyio.run_process(
                command,
                cwd=_ROOT,
                env={**inherited, **work.env, TERMINATION_LOG: str(log)},
                stdout=PIPE,
                stderr=STDOUT,
                check=False,
            )
            message = await _text(anyio.Path(log))
        if (
            not message
            and done.returncode
            and work.container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        ):
            message = done.stdout[-_LOG_BYTES:].decode(errors="replace")
        return Exit(done.returncode, message)


async def _text(path: anyio.Path) -> str:
    try:
        return (await path.read_bytes()).decode(errors="replace")
    except FileNotFoundError:
        return ""
