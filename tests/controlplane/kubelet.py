"""How does a test get a node that real kubelet code keeps up?"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.process import Process
from tests.controlplane.waiting import eventually

_PROGRAMS = (str(Path(__file__).parent / "bin"), str(Path(sys.executable).parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that a hollow kubelet believes to run on; the default is a g4dn.xlarge as EC2 makes it.

    `devices` is what device plugins advertise. With `plugins`, a folder, the kubelet has its own device manager, and
    plugins are what the folder's plugins.json lists (see `device_plugin.py`). `zeroes_at_registration` is the kubelet
    that lost its device checkpoint. Containers whose command has one of the words `runs` (a,b) really run, with
    `run_env` added to their environment and GPU_PROBE_TERMINATION_LOG naming the file that is their termination log.
    Images whose name holds `missing_image` cannot be pulled. `status_seconds` is how often the kubelet computes its
    node status; it does so every 10 s unless told otherwise.
    """

    labels: Mapping[str, str] = field(
        default_factory=lambda: {
            "node.kubernetes.io/instance-type": "g4dn.xlarge",
            "topology.kubernetes.io/region": "eu-west-1",
            "topology.kubernetes.io/zone": "eu-west-1a",
        }
    )
    taints: tuple[str, ...] = ()
    devices: Mapping[str, str] = field(default_factory=lambda: {"nvidia.com/gpu": "1"})
    cpu: int = 4
    memory: str = "16Gi"
    max_pods: int = 110
    provider_id: str = "aws:///eu-west-1a/i-0123456789abcdef0"
    boot_id: str = "2b5b8f9a-0000-4000-8000-000000000001"
    zeroes_at_registration: bool = False
    runs: str = ""
    run_env: Mapping[str, str] = field(default_factory=dict)
    missing_image: str = ""
    status_seconds: int = 10
    plugins: str = ""

    def flags(self) -> list[str]:
        """The machine as arguments of the hollow kubelet."""
        return [
            f"--node-labels={_pairs(self.labels)}",
            f"--register-with-taints={','.join(self.taints)}",
            f"--extended-resources={_pairs(self.devices)}",
            f"--cpu={self.cpu}",
            f"--memory={self.memory}",
            f"--max-pods={self.max_pods}",
            f"--provider-id={self.provider_id}",
            f"--boot-id={self.boot_id}",
            f"--reset-extended-resources={str(self.zeroes_at_registration).lower()}",
            f"--run={self.runs}",
            *([f"--device-plugins={self.plugins}"] if self.plugins else []),
            f"--missing-image={self.missing_image}",
            f"--status-period={self.status_seconds}s",
            *(f"--run-env={key}={value}" for key, value in self.run_env.items()),
        ]


class HollowKubelet:
    """A real kubelet over a pretended container runtime: registers a node, renews its lease, runs pods to Running.

    Leaving the context kills it and deletes its Node.
    """

    def __init__(self, plane: ControlPlane, name: str, machine: Machine | None = None) -> None:
        self.name = name
        self.path = f"/api/v1/nodes/{name}"
        self._plane = plane
        self._machine = machine or Machine()
        self._process: Process | None = None

    def start(self, machine: Machine | None = None) -> Self:
        """Start the kubelet and wait until its node is Ready and open for pods.

        `machine`, if given, takes the place of the one it had: a reboot, or other device plugins.
        """
        self.launch(machine)
        eventually(self._is_up, f"the kubelet of {self.name} makes its node Ready", 40)
        return self

    def launch(self, machine: Machine | None = None) -> Self:
        """Start the kubelet, and wait for nothing."""
        self._machine = machine or self._machine
        # It acts as the node's own user, so the Node authorizer and NodeRestriction judge it.
        kubeconfig = self._plane.kubeconfig_for(
            f"kubelet-{self.name}",
            token=self._plane.admin_token,
            user=f"system:node:{self.name}",
            groups=["system:nodes"],
        )
        self._process = Process(
            [
                self._plane.programs.path("kubelet"),
                f"--name={self.name}",
                f"--kubeconfig={kubeconfig}",
                *self._machine.flags(),
            ],
            self._plane.folder / f"kubelet-{self.name}.log",
            env={
                "TMPDIR": str(self._scratch()),  # its root directory
                "PATH": os.pathsep.join((*_PROGRAMS, os.environ.get("PATH", ""))),  # for Machine.runs
            },
        )
        return self

    def check(self) -> None:
        """Raise `Died` if the kubelet has ended by itself."""
        if self._process:
            self._process.check()

    def stop(self) -> None:
        """Kill the kubelet; the Node object stays as it is."""
        if self._process:
            self._process.kill()
            self._process = None

    def restart(self, machine: Machine | None = None) -> Self:
        """Kill it and start it again on the same Node object."""
        self.stop()
        before = self._last_heard()
        self.start(machine)
        eventually(lambda: self._last_heard() != before, f"the kubelet of {self.name} is heard again", 30)
        return self

    def node(self) -> Json:
        """The Node object as it is now."""
        return self._plane.api.get(self.path)

    def capacity(self, resource: str) -> str | None:
        """status.capacity of that resource."""
        return self.node()["status"]["capacity"].get(resource)  # type: ignore[no-any-return]

    def allocatable(self, resource: str) -> str | None:
        """status.allocatable of that resource."""
        return self.node()["status"]["allocatable"].get(resource)  # type: ignore[no-any-return]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._plane.api.delete(self.path)

    def _last_heard(self) -> object:
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        return self._plane.api.request("GET", f"{leases}/{self.name}").body.get("spec", {}).get("renewTime")

    def _is_up(self) -> bool:
        assert self._process is not None
        self._process.check()
        answer = self._plane.api.request("GET", self.path)
        if answer.status == 404:
            return False
        ready = {c["type"]: c["status"] for c in answer.body.get("status", {}).get("conditions", [])}.get("Ready")
        taints = {taint["key"] for taint in answer.body["spec"].get("taints", [])}
        return ready == "True" and "node.kubernetes.io/not-ready" not in taints

    def _scratch(self) -> Path:
        folder = self._plane.folder / "kubelets" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _pairs(values: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in values.items())
