"""Where are the programs that the tests run, and if nowhere, why and what to do?"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SCRIPTS = Path(__file__).parents[2] / "scripts"
_NOT_BUILT, _NO_GO = 3, 4  # exit statuses of the scripts


@dataclass(frozen=True, slots=True)
class Source:
    """A script that builds programs once and knows where they lie.

    `folder_variable` is the variable of the environment that names a finished folder outright.
    """

    title: str
    script: Path
    folder_variable: str
    without_go: str


CONTROL_PLANE = Source(
    "real control plane",
    _SCRIPTS / "controlplane",
    "CONTROLPLANE_PROGRAMS",
    "there is no Go to build the control plane with, and KUBEBUILDER_ASSETS does not have it; "
    "install Go (tests/controlplane/go/go.mod says which) and run `make controlplane`",
)
"""etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kubelet."""

KARPENTER = Source(
    "real Karpenter",
    _SCRIPTS / "karpenter",
    "KARPENTER_PROGRAMS",
    "there is no Go to build Karpenter with; install Go and run `scripts/karpenter`",
)
"""karpenter-kwok, karpenter-aws, and the definitions of their kinds in crds/kwok and crds/aws."""


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with the programs of one source."""

    folder: Path

    def path(self, name: str) -> str:
        """The program of that name."""
        return str(self.folder / name)


@dataclass(frozen=True, slots=True)
class Buildable:
    """They are not there, but the source's script can build them."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """They are not there and cannot be had; `because` says what to do about it."""

    because: str


def find(source: Source = CONTROL_PLANE) -> Programs | Buildable | Unavailable:
    """Look for the programs without building anything."""
    if folder := os.environ.get(source.folder_variable):
        return Programs(Path(folder))
    done = subprocess.run([source.script, "--print-dir"], capture_output=True, text=True, check=False)
    match done.returncode:
        case 0:
            return Programs(Path(done.stdout.strip()))
        case code if code == _NOT_BUILT:
            return Buildable()
        case code if code == _NO_GO:
            return Unavailable(source.without_go)
        case code:
            said = done.stderr.strip()
            return Unavailable(f"scripts/{source.script.name} --print-dir ended with status {code}: {said}")


def build(source: Source = CONTROL_PLANE) -> Programs:
    """Build what is missing; takes minutes the first time and says so on standard error."""
    done = subprocess.run([source.script], stdout=subprocess.PIPE, stderr=sys.__stderr__, text=True, check=True)
    return Programs(Path(done.stdout.strip().splitlines()[-1]))
