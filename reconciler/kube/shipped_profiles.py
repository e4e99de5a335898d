"""Which ConfigMap does the device plugin need, so that every profile of ours is a key in it?

Each count is a key of its own, and no key ever changes: the plugin's config-manager does not notice an edit under a key
that a node has chosen already (NVIDIA/gpu-operator 1144).
"""

from collections.abc import Mapping
from typing import Any

from reconciler.model import names
from reconciler.model.sharing import EXCLUSIVE, LEAST_REPLICAS, MOST_REPLICAS, profile_name

LABELS = {"app.kubernetes.io/name": "gpu-reconciler"}

_HEADER = """\
# The device plugin's profiles, one key each; the node label {label} names the one that counts.
# Written by `gpu-reconciler profiles`. Add keys, but never edit one that nodes use: the plugin would not see it.
"""

_EXCLUSIVE = """\
version: v1
flags:
  migStrategy: none
"""

# failRequestsGreaterThanOne stays at NVIDIA's default, false: with true the kubelet fails a pod that asks for two after
# the scheduler has placed it, and its Deployment makes another one, again and again.
_SHARED = (
    _EXCLUSIVE
    + """\
sharing:
  timeSlicing:
    resources:
      - name: {resource}
        replicas: {replicas}
"""
)


def contents(most: int = MOST_REPLICAS) -> Mapping[str, str]:
    """Profile to the text under its key: `exclusive`, then `ts-2` to `ts-<most>`.

    Without sharing there is no `sharing` block: the plugin refuses `replicas: 1` (NVIDIA/k8s-device-plugin 1022).
    """
    shared = {
        profile_name(replicas): _SHARED.format(resource=names.GPU_RESOURCE, replicas=replicas)
        for replicas in range(LEAST_REPLICAS, most + 1)
    }
    return {EXCLUSIVE: _EXCLUSIVE, **shared}


def document(namespace: str, name: str, most: int = MOST_REPLICAS) -> Mapping[str, Any]:
    """The ConfigMap as an object."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": LABELS},
        "data": dict(contents(most)),
    }


def manifest(namespace: str, name: str, most: int = MOST_REPLICAS) -> str:
    """The ConfigMap as a file that people read: with its comments, and texts as blocks."""
    lines = [
        _HEADER.format(label=names.PLUGIN_CONFIG).rstrip(),
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata:",
        f"  name: {name}",
        f"  namespace: {namespace}",
        "  labels:",
        *(f"    {label}: {value}" for label, value in LABELS.items()),
        "data:",
    ]
    for key, text in contents(most).items():
        lines += [f"  {key}: |", *(f"    {line}" for line in text.splitlines())]
    return "\n".join(lines) + "\n"
