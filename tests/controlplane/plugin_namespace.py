"""What does the product need in the device plugin's namespace? The namespace itself, and rights to see the profiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from reconciler.sandbox.plugin_chart import CHART, OPERATOR
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.waiting import eventually
from tests.deploy.objects import ROOT

_SHARING = ROOT / "deploy" / "manifests" / "sharing"
_SHIPPED_NAMESPACE, _SHIPPED_CONFIG_MAP = "nvidia-device-plugin", "gpu-profiles"


@contextmanager
def plugin_namespace(
    plane: ControlPlane, namespace: str = _SHIPPED_NAMESPACE, config_map: str = _SHIPPED_CONFIG_MAP
) -> Iterator[None]:
    """The namespace, and `deploy/manifests/sharing` in it, as its README says to change it for other names."""
    eventually(lambda: _is_there(plane, namespace), f"the namespace {namespace} is there", 60)
    for flavour in (CHART, OPERATOR):  # an installation of another test leaves its account behind
        plane.api.delete(f"/api/v1/namespaces/{namespace}/serviceaccounts/{flavour.account}")
    rights = plane.kubectl("kustomize", str(_SHARING))
    changed = rights.replace(_SHIPPED_NAMESPACE, namespace).replace(_SHIPPED_CONFIG_MAP, config_map)
    plane.kubectl("apply", "-f", "-", text=changed)
    yield
    plane.kubectl("delete", "-f", "-", text=changed)


def tolerations(values: str) -> tuple[dict[str, Any], ...]:
    """Those of the device plugin's DaemonSet, by one of our files with values for NVIDIA's charts."""
    chart = yaml.safe_load((ROOT / "deploy" / "device-plugin" / values).read_text())
    return tuple(chart["daemonsets"]["tolerations"] if "daemonsets" in chart else chart["tolerations"])


def _is_there(plane: ControlPlane, namespace: str) -> bool:
    """Made, if need be; one that another test has deleted has to go first."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    plane.api.request("POST", "/api/v1/namespaces", body)
    found = plane.api.request("GET", f"/api/v1/namespaces/{namespace}").body
    return bool(found.get("status", {}).get("phase") == "Active")
