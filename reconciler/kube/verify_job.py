"""What does the Job look like that takes a GPU as any pod does, and looks at it? And how is it made and removed?

Unlike a probe it asks for a GPU through the scheduler, and neither sets NVIDIA_VISIBLE_DEVICES nor mounts anything:
what it sees is what the device plugin and the container runtime give to pods.
"""

import contextlib
import hashlib

import msgspec

from reconciler.kube import fence, job_shape, write
from reconciler.kube.fence import Fence
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import quantity
from reconciler.model.trial import RunVerification
from reconciler.runtime.errors import Gone
from reconciler.runtime.transport import Transport

VERIFY_LABEL_VALUE = "verify"
"""Other than the probes': their watch must not take these Jobs for its own."""

LONGEST_LOOK = 60
"""Seconds that the program gives NVML; less where the Job's own deadline is near, so that it comes to say so."""


def job_name(uid: str, boot_id: str, serial: int) -> str:
    """The same node, boot and try always give the same name: a repeated order is a conflict, not a second Job."""
    digest = hashlib.sha256(f"verify/{uid}/{boot_id}/{serial}".encode()).hexdigest()
    return f"gpu-verify-{digest[:12]}"


def manifest(order: RunVerification, settings: ProbeJobSettings) -> bytes:
    """The Job as JSON."""
    environment = {
        # As images made for CUDA have it. Where the runtime heeds it, NVML needs `utility`.
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "GPU_PROBE_DEADLINE_SECONDS": str(min(LONGEST_LOOK, settings.deadline / 2)),
    }
    asks = {name: quantity.text(amount) for name, amount in order.asks.items()}
    job = job_shape.job(
        job_name(order.node.uid, order.boot_id, order.serial),
        order.node,
        order.boot_id,
        VERIFY_LABEL_VALUE,
        settings,
        container=job_shape.container(settings, env=environment, extended=asks),
    )
    return msgspec.json.encode(job)


class VerifyJobs:
    """Makes verify Jobs and removes them."""

    def __init__(self, transport: Transport, settings: ProbeJobSettings, *, may_write: Fence) -> None:
        self._transport = transport
        self._settings = settings
        self._may_write = may_write
        self._path = f"/apis/batch/v1/namespaces/{settings.namespace}/jobs"

    async def run(self, order: RunVerification) -> bool:
        """Make the Job; one of its name is it, and then the answer is False. Raises what `runtime.errors` names."""
        request = write.request("POST", self._path, manifest(order, self._settings))
        homeless = f"the namespace {self._settings.namespace} is missing"
        return await fence.create(self._transport, self._may_write, request, homeless=homeless)

    async def remove(self, name: str) -> None:
        """Delete the Job with its pod; one that is gone is fine. Raises what `runtime.errors` names."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        with contextlib.suppress(Gone):
            await fence.send(self._transport, self._may_write, write.request("DELETE", f"{self._path}/{name}", body))
