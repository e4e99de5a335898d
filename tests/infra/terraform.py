"""How do tests run Terraform, and when can they not?"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "scripts" / "terraform"

needs_terraform = pytest.mark.skipif(
    shutil.which("terraform") is None and os.environ.get("CI") != "true",
    reason="NOT RUN: install terraform 1.9 or newer to test infra/ (in CI its absence is a failure)",
)


def run(folder: Path, *arguments: str, **environment: str) -> str:
    """Terraform's standard output; on failure all it said becomes the test's failure."""
    done = subprocess.run(
        [TERRAFORM, f"-chdir={folder}", *arguments, "-no-color"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"terraform {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
