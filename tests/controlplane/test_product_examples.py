"""deploy/examples/karpenter on the real Karpenter for AWS: slices on spot for development, whole GPUs in production."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PluginScript
from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import DevicePlugin, plugged
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.karpenter_aws import Aws
from tests.controlplane.kubelet import Machine
from tests.controlplane.plugin_namespace import plugin_namespace, tolerations
from tests.controlplane.plugin_place import Place
from tests.controlplane.product import g4dn_with_driver
from tests.controlplane.replica import Replica
from tests.controlplane.waiting import eventually
from tests.deploy.objects import EXAMPLES, ROOT

pytestmark = pytest.mark.timeout(300)

EXAMPLE = EXAMPLES / "karpenter"
MEMORY = "gpu-reconciler.io/gpu-memory"
GPU = "nvidia.com/gpu"
PROFILE = "nvidia.com/device-plugin.config"
SETTINGS = {"config": EXAMPLE / "settings.yaml", "capacity.resource": MEMORY}
OF_THE_CLUSTER = ("amiSelectorTerms", "role", "subnetSelectorTerms", "securityGroupSelectorTerms")
"""What people replace in the node class: images, role and network are those of their account."""


@pytest.fixture
def driver(tmp_path: Path) -> Machine:
    return g4dn_with_driver(tmp_path)


@pytest.fixture
def here(
    control_plane: ControlPlane, karpenter_aws: Callable[..., Karpenter[Aws]], driver: Machine
) -> Iterator[Karpenter[Aws]]:
    """Karpenter with both NodePools ready, on an account that sells g4dn, and NVIDIA's chart with our values."""
    with ExitStack() as places:

        def dressed(_: Json, machine: Machine) -> Machine:
            # Short: the path of a socket has about 100 characters.
            folder = places.enter_context(tempfile.TemporaryDirectory(prefix="plugins-"))
            place = Place(Path(folder))
            place.tell(PluginScript())
            with_driver = replace(machine, runs=driver.runs, run_env=driver.run_env, status_seconds=2)
            return plugged(control_plane, with_driver, place)

        karpenter = karpenter_aws(["g4dn"], dresses=dressed)
        _install(control_plane, karpenter.cloud.node_class)
        with plugin_namespace(control_plane):
            control_plane.kubectl("apply", "-k", str(ROOT / "deploy" / "device-plugin"))
            chart = PluginChart(external="gpu-profiles", tolerations=tolerations("values-device-plugin.yaml"))
            with DevicePlugin(control_plane, chart):
                yield karpenter


def _install(plane: ControlPlane, theirs: Json) -> None:
    """The files as they are, but for what is another in each account."""
    node_class = yaml.safe_load((EXAMPLE / "ec2nodeclass.yaml").read_text())
    node_class["spec"] |= {field: theirs["spec"][field] for field in (*OF_THE_CLUSTER, "amiFamily")}
    plane.kubectl("apply", "-f", "-", text=yaml.safe_dump(node_class))
    plane.kubectl("apply", "-f", str(EXAMPLE / "nodepool-dev.yaml"), "-f", str(EXAMPLE / "nodepool-production.yaml"))
    eventually(lambda: _ready(plane) == {"gpu-dev", "gpu-production"}, "the NodePools are ready", 30)


def _ready(plane: ControlPlane) -> set[str]:
    pools = plane.api.get(objects.POOLS)["items"]
    return {one["metadata"]["name"] for one in pools if (objects.condition(one, "Ready") or ("",))[0] == "True"}


def running(plane: ControlPlane, namespace: str, app: str) -> dict[str, str]:
    """The pods that run, by name, with their nodes."""
    found = plane.api.get(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"app={app}")["items"]
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if one["status"]["phase"] == "Running"}


def test_development_shares_a_spot_machine_and_production_has_whole_ones_half_of_them_on_spot(
    control_plane: ControlPlane, namespace: str, here: Karpenter[Aws], replica: Callable[..., Replica]
) -> None:
    """From zero, with no machine more than the pods need: each is closed until it is what Karpenter was told."""
    replica("one", SETTINGS).lead()
    eventually(lambda: len(control_plane.api.get(objects.OVERLAYS)["items"]) >= 2, "Karpenter is told", 40)
    control_plane.kubectl("-n", namespace, "apply", "-f", str(EXAMPLE / "deployment-dev.yaml"))

    claim = here.claim("gpu-dev", told="Registered", seconds=60)
    eventually(lambda: len(running(control_plane, namespace, "gpu-dev")) == 3, "three pods share it", 90)
    eventually(lambda: (here.told(claim, "Initialized") or ("",))[0] == "True", "the claim is initialized", 30)
    shared = here.node(claim)
    assert set(running(control_plane, namespace, "gpu-dev").values()) == {shared["metadata"]["name"]}
    assert (shared["status"]["allocatable"][GPU], shared["status"]["allocatable"][MEMORY]) == ("3", "14910Mi")
    assert shared["metadata"]["labels"][objects.CAPACITY_TYPE] == "spot"
    assert shared["metadata"]["labels"][PROFILE] == "ts-3"
    assert [taint["key"] for taint in shared["spec"]["taints"]] == [GPU]

    control_plane.kubectl("-n", namespace, "apply", "-f", str(EXAMPLE / "deployment-production.yaml"))
    eventually(lambda: len(running(control_plane, namespace, "gpu-production")) == 2, "the pods run", 120)
    names = set(running(control_plane, namespace, "gpu-production").values())
    whole = [control_plane.api.get(f"/api/v1/nodes/{name}") for name in names]
    assert sorted(one["metadata"]["labels"][objects.CAPACITY_TYPE] for one in whole) == ["on-demand", "spot"]
    assert {one["metadata"]["labels"][PROFILE] for one in whole} == {"exclusive"}
    assert {one["status"]["allocatable"][GPU] for one in whole} == {"1"}

    assert sorted(one["metadata"]["labels"][objects.NODEPOOL] for one in here.claims()) == [
        "gpu-dev",
        "gpu-production",
        "gpu-production",
    ]
