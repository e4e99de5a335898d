"""How do the nodes' probes run? As processes against the NVML double, or, where that cannot be, from records."""

import json
import sys
from pathlib import Path

from reconciler.sandbox import nvml_double
from reconciler.sandbox.kubelet_process import Processes
from reconciler.sandbox.programs import Exit, Pretend, Runtime, Work
from scripts.demo.fleet import RECORDING

RECORDED = Path(__file__).with_name("recorded.json")
"""Member's name to exit code and message, as the real probe gave them (python -m scripts.demo.record)."""


def built(folder: Path) -> tuple[Path | None, str]:
    """The NVML double, or None and why there is none."""
    if not sys.platform.startswith("linux"):
        return None, "the NVML double is a Linux library"
    try:
        library = nvml_double.build(folder)
    except nvml_double.NotBuilt as refusal:
        return None, f"the NVML double could not be compiled ({str(refusal)[:200]})"
    return library, "" if library is not None else "there is no C compiler (cc) here to build the NVML double with"


def runtime(library: Path | None) -> Runtime:
    """What runs the containers of the nodes."""
    if library is not None:
        return Processes()
    answers = json.loads(RECORDED.read_text())

    def replayed(work: Work) -> Exit:
        answer = answers[work.env[RECORDING]]
        return Exit(answer["code"], answer["message"])

    return Pretend(replayed, probe_seconds=0.5)
