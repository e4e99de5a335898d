"""Where are the programs of the control plane, and if nowhere, why and what to do?"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = Path(__file__).parents[2] / "scripts" / "controlplane"
_NOT_BUILT, _NO_GO = 3, 4  # exit statuses of the script


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kubelet."""

    folder: Path

    def path(self, name: str) -> str:
        """The program of that name."""
        return str(self.folder / name)


@dataclass(frozen=True, slots=True)
class Buildable:
    """They are not there, but scripts/controlplane can build them."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """They are not there and cannot be had; `because` says what to do about it."""

    because: str


def find() -> Programs | Buildable | Unavailable:
    """Look for the programs without building anything.

    CONTROLPLANE_PROGRAMS names a folder outright; `make controlplane-next` uses it.
    """
    if folder := os.environ.get("CONTROLPLANE_PROGRAMS"):
        return Programs(Path(folder))
    done = subprocess.run([_SCRIPT, "--print-dir"], capture_output=True, text=True, check=False)
    match done.returncode:
        case 0:
            return Programs(Path(done.stdout.strip()))
        case code if code == _NOT_BUILT:
            return Buildable()
        case code if code == _NO_GO:
            return Unavailable(
                "there is no Go to build the control plane with, and KUBEBUILDER_ASSETS does not have it; "
                "install Go (tests/controlplane/go/go.mod says which) and run `make controlplane`"
            )
        case code:
            return Unavailable(f"scripts/controlplane --print-dir ended with status {code}: {done.stderr.strip()}")


def build() -> Programs:
    """Build what is missing; takes minutes the first time and says so on standard error."""
    done = subprocess.run([_SCRIPT], stdout=subprocess.PIPE, stderr=sys.__stderr__, text=True, check=True)
    return Programs(Path(done.stdout.strip().splitlines()[-1]))
