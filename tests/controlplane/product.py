"""How does the product run beside the tests? Installed as its manifests say, each replica a process of its own."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from reconciler.model import quantity
from reconciler.sandbox import nvml_double
from tests.controlplane.api import Json
from tests.controlplane.audit import Call
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import Machine
from tests.controlplane.process import Process
from tests.controlplane.waiting import eventually
from tests.deploy.objects import MANIFESTS, ROOT
from tests.probe.double import built

MEMORY = "veriff.com/gpu-memory"
NAMESPACE = "gpu-reconciler"
USER = f"system:serviceaccount:{NAMESPACE}:gpu-reconciler"
G4DN = {"node.kubernetes.io/instance-type": "g4dn.xlarge", "topology.kubernetes.io/region": "eu-west-1"}

UNPROBED = 14592
"""MiB of a g4dn.xlarge before any probe: 15360 by the built-in table, less 5 %."""
PROBED = 14910
"""MiB of a g4dn.xlarge by NVML: 15360, less the 450 that the driver keeps."""

WRITES = ("create", "update", "patch", "delete", "deletecollection")
_PREFIX = "GPU_RECONCILER_"

# Nobody's AWS account, and none of this machine's files.
AWS_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIATEST",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_REGION": "eu-west-1",
    "NO_PROXY": "127.0.0.1",
}

_number = itertools.count(1)


class Installation:
    """`deploy/manifests` on a cluster, all but the Deployment: its pods are the processes that tests start."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._container: Json = {}

    def install(self) -> Self:
        """Apply the manifests as admin."""
        objects = list(yaml.safe_load_all(self.plane.kubectl("kustomize", str(MANIFESTS))))
        (self._container,) = [
            container
            for one in objects
            if one["kind"] == "Deployment"
            for container in one["spec"]["template"]["spec"]["containers"]
        ]
        rest = [one for one in objects if one["kind"] != "Deployment"]
        self.plane.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(rest))
        return self

    def forget(self) -> None:
        """Remove what earlier replicas left behind: the lease, the catalog, the probes."""
        api = self.plane.api
        api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/gpu-reconciler")
        api.delete(f"/api/v1/namespaces/{NAMESPACE}/configmaps/gpu-reconciler-catalog")
        api.delete(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", propagationPolicy="Background")

    def replica(self, name: str, settings: Mapping[str, object] | None = None, *, server: str = "") -> Replica:
        """A replica that is not started yet. `settings` as {"capacity.margin_mib": 30}.

        `server` stands in for the API server's own address.
        """
        token = self.plane.token_for_service_account(NAMESPACE, "gpu-reconciler")
        unique = f"{name}-{next(_number)}"
        kubeconfig = self.plane.kubeconfig_for(f"replica-{unique}", token=token)
        if server:
            kubeconfig.write_text(kubeconfig.read_text().replace(self.plane.url, server))
        environment = self._environment(name, kubeconfig, settings or {})
        return Replica(self.plane, name, environment, self.plane.folder / f"replica-{unique}.log", _credential(token))

    def command(self, *arguments: str, settings: Mapping[str, object] | None = None) -> Ran:
        """Run `gpu-reconciler ARGUMENTS` to its end, with the rights of the controller."""
        replica = self.replica("command", settings)
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", *arguments],
            env={**os.environ, **replica.environment},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return Ran(done, replica)

    def _environment(self, name: str, kubeconfig: Path, settings: Mapping[str, object]) -> dict[str, str]:
        """The Deployment's own environment, as far as it can hold outside a pod, and the test's settings over it."""
        of_pod = {"metadata.namespace": NAMESPACE, "metadata.name": name}
        shipped = {
            variable["name"]: variable["value"]
            if "value" in variable
            else of_pod[variable["valueFrom"]["fieldRef"]["fieldPath"]]
            for variable in self._container["env"]
        }
        del shipped[f"{_PREFIX}CONFIG"]  # a file in the pod
        ours = {
            "kubernetes.kubeconfig": kubeconfig,
            "server.host": "127.0.0.1",
            "server.port": 0,
            "capacity.resource": MEMORY,
            "aws.enabled": False,
            **settings,
        }
        given = {_PREFIX + key.upper().replace(".", "__"): str(value) for key, value in ours.items()}
        return {**shipped, **given, **AWS_ENVIRONMENT, "PYTHONPATH": str(ROOT)}


class Ran:
    """A command that has ended."""

    def __init__(self, done: subprocess.CompletedProcess[str], replica: Replica) -> None:
        self.code = done.returncode
        self.output = done.stdout
        self.errors = done.stderr
        self._replica = replica

    def writes(self) -> list[Call]:
        """Every write of it, leases included."""
        return [call for call in self._replica.calls() if call.verb in WRITES]


class Replica:
    """One `gpu-reconciler run`. Leaving the context kills it, and insists that it was refused nothing it asked for.

    `may_be_refused` is for tests of an API server that has just started: for a moment it knows no rights yet.
    """

    may_be_refused = False

    def __init__(
        self, plane: ControlPlane, name: str, environment: Mapping[str, str], log: Path, credential: str
    ) -> None:
        self.name = name
        self.environment = environment
        self.log = log
        self._plane = plane
        self._credential = credential
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """The process, to pause, stop and kill."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process

    def launch(self) -> Self:
        """Start the process, and wait for nothing."""
        self._process = Process([sys.executable, "-m", "reconciler", "run"], self.log, self.environment)
        return self

    def start(self) -> Self:
        """Wait until it answers on its port; it may not have reached the API server yet."""
        if self._process is None:
            self.launch()
        eventually(self._port, f"{self.name} serves", 60)
        return self

    def lead(self) -> Self:
        """Start, and wait until it has read everything and leads."""
        self.start()
        eventually(self.leads, f"{self.name} leads", 60)
        return self

    def leads(self) -> bool:
        """Whether it says so itself."""
        return "gpu_reconciler_leader 1.0" in self.page("/metrics")[1]

    def page(self, path: str) -> tuple[int, str]:
        """Status and text of its own HTTP pages."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port()}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def said(self) -> list[Json]:
        """The lines of its log."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def calls(self) -> list[Call]:
        """What this replica and no other asked the API server, in the order of the answers."""
        return [call for call in self._plane.audit(USER) if call.credential == self._credential]

    def writes(self) -> list[Call]:
        """Its writes, but for those of the election."""
        return [call for call in self.calls() if call.verb in WRITES and call.resource != "leases"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        self._process.kill()
        if error is not None:
            return
        refused = [(call.verb, call.resource, call.uri) for call in self.calls() if call.status in (401, 403)]
        assert self.may_be_refused or not refused, f"the manifests do not grant what {self.name} asked for: {refused}"
        log = self.log.read_text()
        assert "Traceback" not in log, f"{self.name} was surprised:\n{log[-3000:]}"

    def _port(self) -> int:
        self.process.check()
        return next((line["port"] for line in self.said() if line["event"] == "serving"), 0)


def g4dn_with_driver(folder: Path, *, max_pods: int = 110, taints: tuple[str, ...] = ()) -> Machine:
    """A g4dn.xlarge where the probe really runs, and finds a T4."""
    gpu = {"LD_LIBRARY_PATH": str(built(folder).parent), **nvml_double.MACHINES["g4dn.xlarge"]}
    return Machine(
        taints=taints,
        max_pods=max_pods,
        status_seconds=2,
        runs="reconciler.probe",
        run_env={"PYTHONPATH": str(ROOT), **gpu},
    )


def memory(plane: ControlPlane, path: str) -> tuple[int | None, int | None]:
    """MiB of the memory resource in capacity and allocatable of the node."""
    status = plane.api.get(path)["status"]
    found = [status.get(field, {}).get(MEMORY) for field in ("capacity", "allocatable")]
    capacity, allocatable = [None if text is None else quantity.of_resource(MEMORY, text) // 2**20 for text in found]
    return capacity, allocatable


def reason(plane: ControlPlane, path: str) -> str | None:
    """The reason of the condition GPUMemoryReady of the node."""
    conditions = plane.api.get(path)["status"].get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "GPUMemoryReady"), None)


def _credential(token: str) -> str:
    """How the audit log names the token: by the id that is in it."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return f"JTI={claims['jti']}"
