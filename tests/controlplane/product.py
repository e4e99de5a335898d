"""How does the product run beside the tests? Installed as its manifests say, each replica a process of its own."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import yaml

from reconciler.model import quantity
from reconciler.sandbox import nvml_double
from tests.controlplane.api import Json
from tests.controlplane.audit import Call
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import Machine
from tests.controlplane.replica import NAMESPACE, WRITES, Replica
from tests.deploy.objects import MANIFESTS, ROOT
from tests.probe.double import built

MEMORY = "veriff.com/gpu-memory"
G4DN = {"node.kubernetes.io/instance-type": "g4dn.xlarge", "topology.kubernetes.io/region": "eu-west-1"}

UNPROBED = 14592
"""MiB of a g4dn.xlarge before any probe: 15360 by the built-in table, less 5 %."""
PROBED = 14910
"""MiB of a g4dn.xlarge by NVML: 15360, less the 450 that the driver keeps."""

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
