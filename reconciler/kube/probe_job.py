"""What does the Job look like that asks NVML on one node? No token, no node rights, no privilege, no GPU of its own.

How it sees the GPU without taking one (nvidia-container-toolkit, internal/config/image): where the toolkit honours the
environment of plain containers (AL2023's AMI), NVIDIA_VISIBLE_DEVICES does it; where it only honours mounts
(Bottlerocket), /dev/null under /var/run/nvidia-container-devices does. Each ignores the other, so both are given.
"""

import hashlib

import msgspec

from reconciler.kube import job_shape
from reconciler.kube.job_shape import DISRUPTED
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model.plan import RunProbe
from reconciler.model.probe_report import EXIT_CODES, FIRST_FINAL_EXIT_CODE

PROBE_LABEL_VALUE = "gpu"
FINAL_EXIT_CODES = sorted(code for code in EXIT_CODES.values() if code >= FIRST_FINAL_EXIT_CODE)

_ENVIRONMENT = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}


def job_name(uid: str, boot_id: str, serial: int) -> str:
    """The same node, boot and try always give the same name: a repeated order is a conflict, not a second Job."""
    digest = hashlib.sha256(f"{uid}/{boot_id}/{serial}".encode()).hexdigest()
    return f"gpu-probe-{digest[:12]}"


def manifest(order: RunProbe, settings: ProbeJobSettings) -> bytes:
    """The Job as JSON."""
    container = job_shape.container(settings, env=_ENVIRONMENT)
    container["volumeMounts"] = [{"name": "all-gpus", "mountPath": "/var/run/nvidia-container-devices/all"}]
    job = job_shape.job(
        job_name(order.node.uid, order.boot_id, order.serial),
        order.node,
        order.boot_id,
        PROBE_LABEL_VALUE,
        settings,
        container=container,
        volumes=[{"name": "all-gpus", "hostPath": {"path": "/dev/null"}}],
        failures=[
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": FINAL_EXIT_CODES}},
            DISRUPTED,
        ],
    )
    return msgspec.json.encode(job)
