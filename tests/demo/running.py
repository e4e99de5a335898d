"""How do tests run the demo, and what of it is left afterwards?"""

import os
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).parents[2]
MARK = "DEMO_TEST_MARK"
"""A variable that every process of one run inherits, whatever session or group it moves to."""

SECONDS = 240.0
"""The demo takes half a minute; this is for a machine that does much else."""

SCHEDULED, COMPUTED = 28.0, 32.0
"""Seconds: how the minute that the demo may take is divided; for waiting, and for processors."""

STORY = (
    "1. A GPU node joins",
    "gpu-t4: 14562 MiB advertised; Provisional",
    "gpu-t4: 14562 -> 14880 MiB; Verified",
    "✓ schedulable",
    "✓ gpu-a10g (g5.xlarge): Verified, 22701 MiB, as NVML says, open for pods",
    "✓ gpu-l4-eighth (g6f.large): Verified, 2530 MiB, as NVML says, open for pods",
    "✓ gpu-radeon (g4ad.xlarge): NotNVIDIA, nothing advertised, open for pods",
    "✓ gpu-a100-mig (p4d.24xlarge): MIG, nothing advertised, open for pods",
    "✓ 6 pods run, spread over the nodes that advertise memory",
    "✓ 169 pods run and 6 wait",
    "Insufficient veriff.com/gpu-memory",
    "✓ gpu-t4 is full, and what binds is its pods: 29 of 29 pods",
    "✓ gpu-l4-eighth is full, and what binds is its GPU memory: 24 of 110 pods",
    "gpu-l4-eighth: 2530 -> 0 MiB",
    "gpu-l4-eighth: 0 -> 2530 MiB",
    "✓ healed",
    "✓ none of its 24 pods was hurt",
    "withdrawn; NoNVML: no GPU can be used on this node",
    "✓ gpu-blind (g4dn.xlarge): NoNVML, nothing advertised, the startup taint stays",
    "✓ no pod of those that wait came to gpu-blind",
    "7. Karpenter's NodePools gpu-dev and gpu-production appear",
    "3 POST nodeoverlays",
    "✓ a NodeOverlay says veriff.com/gpu-memory 14880Mi on g4dn.xlarge",
    "✓ a NodeOverlay says veriff.com/gpu-memory 22701Mi on g5.xlarge",
    "✓ a NodeOverlay says nvidia.com/gpu 4 on g4dn.xlarge, g5.xlarge in gpu-dev",
    "✓ dev-1 (g4dn.xlarge): Verified, 14880 MiB, as NVML says, open for pods",
    "✓ production-1 (g5.xlarge): Verified, 22701 MiB, as NVML says, open for pods",
    "✓ dev-1: Sliced, profile ts-4, 4 nvidia.com/gpu, as Karpenter knows",
    "✓ production-1: Exclusive, profile exclusive, 1 nvidia.com/gpu, as Karpenter knows",
    "✓ 4 pods of dev run on the one GPU of dev-1; the next one waits for a slot, though 6688 MiB are free",
    "Insufficient nvidia.com/gpu",
    "✓ one pod of production has the GPU of production-1; the next one waits for a slot, though 20653 MiB are free",
    "the node's condition GPUSharingReady says NoGPUsOffered: the plugin's pod nvidia-device-plugin/",
    "is ready and offers no GPU (NVIDIA/k8s-device-plugin 1645): delete the pod",
    "✓ that pod is the plugin's on dev-2, which offers no slot and keeps its startup taint",
    "✓ dev-2: Sliced, profile ts-4, 4 nvidia.com/gpu, as Karpenter knows",
    "✓ the pod of dev that waited runs on dev-2",
    "30 looked at and true",
)
"""Key sentences in their order. Figures are the cards' totals less what their drivers reserve, less 30 of margin."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One run, from outside."""

    code: int
    output: str
    left: tuple[str, ...]
    """Command lines of processes that outlived it."""
    computed: float
    """Seconds of processor time, of all its processes."""

    def told(self) -> list[str]:
        """The key sentences that came, each after the one before it."""
        found, place = [], 0
        for sentence in STORY:
            at = self.output.find(sentence, place)
            if at >= 0:
                found.append(sentence)
                place = at
        return found


class Demo:
    """The demo as a process, its output a pipe and so no terminal."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self._mark = uuid.uuid4().hex
        self._computed_before = _computed()
        self._lines: list[str] = []
        self._child = subprocess.Popen(
            [sys.executable, "-m", "scripts.demo", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONUTF8": "1", **(env or {}), MARK: self._mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def until(self, words: str) -> str:
        """Read until a line holds these words, and give it; the end of the output is an AssertionError."""
        for line in self._output:
            self._lines.append(line)
            if words in line:
                return line
        raise AssertionError(f"it ended without {words!r}:\n{''.join(self._lines)}")

    def signal(self, number: int) -> None:
        self._child.send_signal(number)

    def end(self) -> Ended:
        """Read the rest and wait for the end."""
        self._lines.extend(self._output)
        code = self._child.wait(SECONDS)
        return Ended(code, "".join(self._lines), self._left(), _computed() - self._computed_before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        self._output.close()

    @property
    def _output(self) -> IO[str]:
        assert self._child.stdout is not None
        return self._child.stdout

    def _left(self, seconds: float = 5.0) -> tuple[str, ...]:
        """What still runs a little later; processes that were killed need a moment to be gone."""
        deadline = time.monotonic() + seconds
        while (found := self._running()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _running(self) -> tuple[str, ...]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self._mark}".encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # gone meanwhile, or somebody else's
        return tuple(found)


def _computed() -> float:
    """Processor time of all children that have ended, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*arguments: str, env: Mapping[str, str] | None = None) -> Ended:
    """One whole run."""
    with Demo(*arguments, env=env) as demo:
        return demo.end()
