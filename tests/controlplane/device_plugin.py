"""How does a test get nodes with NVIDIA's device plugin? Its DaemonSet, and hollow nodes with a place for plugins."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PRESENT_LABEL, PluginScript
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.plugin_place import Place
from tests.deploy.objects import ROOT

_number = itertools.count(1)
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


class DevicePlugin:
    """An installation of the chart, in a namespace that is there. Leaving the context takes it away."""

    def __init__(self, plane: ControlPlane, chart: PluginChart) -> None:
        self.chart = chart
        self._plane = plane
        self._role = f"device-plugin-{next(_number)}"

    def __enter__(self) -> Self:
        api, chart, core = self._plane.api, self.chart, f"/api/v1/namespaces/{self.chart.namespace}"
        account = {"metadata": {"name": chart.flavour.account}}
        api.post(f"{core}/serviceaccounts", account)
        # The chart's role.yml: config-manager follows one node, and may look at all.
        rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
        api.post(f"{_RBAC}/clusterroles", {"metadata": {"name": self._role}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": chart.flavour.account, "namespace": chart.namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self._role}
        binding = {"metadata": {"name": self._role}, "subjects": [subject], "roleRef": reference}
        api.post(f"{_RBAC}/clusterrolebindings", binding)
        if chart.configs is not None and not chart.external:
            api.post(f"{core}/configmaps", {"metadata": {"name": chart.config_map}, "data": dict(chart.configs)})
        api.post(self._daemon_sets, chart.daemon_set())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        api = self._plane.api
        api.delete(f"{self._daemon_sets}/{self.chart.name}", propagationPolicy="Background")
        for kind_of_role in ("clusterrolebindings", "clusterroles"):
            api.delete(f"{_RBAC}/{kind_of_role}/{self._role}")

    @property
    def _daemon_sets(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.chart.namespace}/daemonsets"

    def pods(self) -> list[Json]:
        """The plugin's pods."""
        found: list[Json] = self._plane.api.get(f"/api/v1/namespaces/{self.chart.namespace}/pods")["items"]
        owner = self.chart.name
        return [each for each in found if each["metadata"].get("ownerReferences", [{}])[0].get("name") == owner]


def plugged(plane: ControlPlane, machine: Machine, place: Place, *, gpus: int = 1) -> Machine:
    """The machine with so many GPUs built in and that place for plugins; what it advertised itself, it does not."""
    present = {PRESENT_LABEL: "true"} if place.script().labelled else {}
    env = {
        "PLUGIN_FOLDER": str(place.folder),
        "GPUS": str(gpus),
        "API_SERVER": plane.url,
        "SERVICE_ACCOUNT": "/var/run/secrets/kubernetes.io/serviceaccount",
        "PYTHONPATH": str(ROOT),
    }
    words = [*filter(None, machine.runs.split(",")), "config-manager", "nvidia-device-plugin"]
    return replace(
        machine,
        labels={**present, **machine.labels},
        devices={},
        runs=",".join(words),
        run_env={**env, **machine.run_env},
        plugins=str(place.folder),
    )


class PluggedNode:
    """A hollow node on which the plugin's pod really runs."""

    def __init__(
        self, plane: ControlPlane, name: str, machine: Machine, script: PluginScript | None = None, *, gpus: int = 1
    ) -> None:
        # Short: the path of a socket has about 100 characters.
        self._folder = tempfile.TemporaryDirectory(prefix="plugins-")
        self.place = Place(Path(self._folder.name))
        self.place.tell(script or PluginScript())
        self._plane = plane
        self._gpus = gpus
        self.kubelet = HollowKubelet(plane, name, plugged(plane, machine, self.place, gpus=gpus))

    def restart(self, machine: Machine | None = None) -> None:
        """Kill the kubelet and start it again: its containers are gone with it, as after a reboot."""
        self.kubelet.stop()
        self.place.stop()
        self.kubelet.restart(machine and plugged(self._plane, machine, self.place, gpus=self._gpus))

    def __enter__(self) -> Self:
        self.kubelet.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kubelet.__exit__(kind, error, trace)
        self._folder.cleanup()
