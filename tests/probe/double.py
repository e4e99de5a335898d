"""How do tests get at the NVML double, and run the probe against it?"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.model.probe_report import ProbeReport, parse
from reconciler.sandbox import nvml_double

ROOT = Path(__file__).parents[2]


def built(directory: Path, *, without: tuple[str, ...] = ()) -> Path:
    """The library, fresh; no compiler is a failure where everything is promised to run, and said aloud elsewhere."""
    library = nvml_double.build(directory, without=without)
    if library is None:
        why = "no `cc` on this machine, so nothing was tried against the NVML double: install a C compiler"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return library


def environment(library_folder: Path | None, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """A process's environment: the library's folder on the loader's path, or none at all."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("NVML_DOUBLE_", "GPU_PROBE_"))}
    inherited.pop("LD_LIBRARY_PATH", None)
    place = {} if library_folder is None else {"LD_LIBRARY_PATH": str(library_folder)}
    return {**inherited, **place, **(settings or {})}


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the probe program, from outside."""

    code: int
    message: str
    """What the kubelet would find in the termination-log file."""
    output: str
    errors: str

    @property
    def report(self) -> ProbeReport:
        return parse(self.message)


def run_probe(
    library_folder: Path | None,
    log: Path,
    settings: Mapping[str, str] | None = None,
    *,
    interpreter: tuple[str, ...] = (),
) -> Ran:
    command = [sys.executable, *interpreter, "-m", "reconciler.probe"]
    variables = environment(library_folder, {"GPU_PROBE_TERMINATION_LOG": str(log), **(settings or {})})
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False)
    return Ran(done.returncode, log.read_text() if log.is_file() else "", done.stdout, done.stderr)
