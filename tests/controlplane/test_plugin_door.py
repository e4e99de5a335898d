"""What the controller's account sees and may do in the device plugin's namespace, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from reconciler.kube import sources
from reconciler.kube.apply import KubeActuator
from reconciler.kube.connection import connect
from reconciler.kube.fence import unfenced
from reconciler.kube.plugin_cache import PluginCache
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Pace, Watcher
from reconciler.model import fence, names
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.plan import Advertise, ClearTaint, Done, Lost, RestartPlugin, SetTaint
from reconciler.model.sharing import Profile, UnusableProfile
from reconciler.model.workload import PodRef
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.errors import Forbidden, Stale
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.replica import NAMESPACE
from tests.deploy.needed_verbs import PLUGIN, PROFILES
from tests.deploy.objects import SHARING

pytestmark = pytest.mark.anyio

SELECTOR = "app=plugin"
SLICED = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class Notebook:
    async def learn(self, figure: LearnedFigure) -> None:
        raise AssertionError(figure)


async def until(question: Callable[[], object], what: str) -> None:
    """Rights and events take a moment."""
    with anyio.move_on_after(20):
        while not question():  # noqa: ASYNC110  # nobody tells when a right begins to hold
            await anyio.sleep(0.05)
        return
    raise AssertionError(what)


def grant(plane: ControlPlane, namespace: str, text: str) -> None:
    """Apply manifests of deploy/manifests/sharing for another namespace than the default."""
    plane.kubectl("apply", "-f", "-", text=text.replace(f"namespace: {PLUGIN}", f"namespace: {namespace}"))


def plugin_pod(namespace: str, name: str, node: str) -> Json:
    containers = [
        {"name": "nvidia-device-plugin-ctr", "image": "x"},
        {"name": "sidecar", "image": "x", "command": ["config-manager"]},
    ]
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "plugin"}}
    spec = {"nodeName": node, "containers": containers, "tolerations": [{"operator": "Exists"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.usefixtures("installation")
async def test_the_plugins_profiles_and_pods_are_seen_once_the_right_is_given(
    control_plane: ControlPlane, namespace: str
) -> None:
    """Without `deploy/manifests/sharing` there are no profiles, and the pods are seen by the right on all pods."""
    api, troubles = control_plane.api, list[Trouble]()
    config_map: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PROFILES}}
    config_map |= {"data": {"ts-4": SLICED, "bad": "sharing: 1"}, "binaryData": {"blob": "/w=="}}
    api.post(f"/api/v1/namespaces/{namespace}/configmaps", config_map)
    kubeconfig = control_plane.kubeconfig_for_service_account(NAMESPACE, "gpu-reconciler")
    cache = PluginCache()
    with bare_node(control_plane, f"node-{namespace}"[:63]) as path:
        node = NodeName(path.rpartition("/")[2])
        api.post(f"/api/v1/namespaces/{namespace}/pods", plugin_pod(namespace, "plugin", node))
        async with connect(kubeconfig) as transport, anyio.create_task_group() as group:

            def follow(source: Any, sink: Any) -> Watcher[Any]:
                pace, backoff = Pace(absent=0.5), Backoff(lambda: 0.5)
                watcher = Watcher(transport, source, sink, backoff=backoff, report=troubles.append, pace=pace)
                group.start_soon(watcher.run)
                return watcher

            configs = follow(sources.plugin_config_map(troubles.append, namespace, PROFILES), cache.configs.take)
            pods = follow(sources.plugin_pods(troubles.append, namespace, SELECTOR), cache.pods.take)
            await configs.synced.wait()
            await pods.synced.wait()
            assert cache.config is None
            assert any("403" in trouble.why for trouble in troubles), troubles
            [pod] = cache.on_node(node)
            assert (pod.ref.name, pod.config_manager, pod.ready) == ("plugin", True, False)

            grant(control_plane, namespace, control_plane.kubectl("kustomize", str(SHARING)))
            await until(lambda: cache.config is not None, "the profiles are seen")
            found: Any = cache.config
            assert found.profiles["ts-4"] == Profile(4)
            assert {key for key, one in found.profiles.items() if isinstance(one, UnusableProfile)} == {"bad", "blob"}
            assert abs(found.changed - datetime.now(UTC)) < timedelta(minutes=2)

            api.delete(f"/api/v1/namespaces/{namespace}/configmaps/{PROFILES}")
            api.delete(f"/api/v1/namespaces/{namespace}/pods/plugin", gracePeriodSeconds=0)
            await until(lambda: cache.config is None and not cache.on_node(node), "both are gone")
            group.cancel_scope.cancel()


@pytest.mark.usefixtures("installation")
async def test_a_plugins_pod_is_restarted_only_with_the_right_to_and_only_that_very_pod(
    control_plane: ControlPlane, namespace: str
) -> None:
    api, pods = control_plane.api, f"/api/v1/namespaces/{namespace}/pods"
    kubeconfig = control_plane.kubeconfig_for_service_account(NAMESPACE, "gpu-reconciler")
    settings: Any = None  # no probe is ordered here
    with bare_node(control_plane, f"node-{namespace}"[:63]) as path:
        made = api.post(pods, plugin_pod(namespace, "plugin", path.rpartition("/")[2]))
        key = NodeKey(NodeName(path.rpartition("/")[2]), api.get(path)["metadata"]["uid"])
        order = RestartPlugin(key, PodRef(namespace, "plugin", made["metadata"]["uid"]))
        async with connect(kubeconfig) as transport:
            actuator = KubeActuator(transport, may_write=unfenced, probe=settings, catalog=Notebook(), clock=Clock())
            with pytest.raises(Forbidden, match=f"DELETE {pods}/plugin: 403"):
                await actuator.apply([order])

            grant(control_plane, namespace, (SHARING / "restart-plugin.yaml").read_text())
            namesake = RestartPlugin(key, PodRef(namespace, "plugin", "11111111-2222-3333-4444-555555555555"))
            outcomes: list[object] = []
            with anyio.fail_after(20):
                while not outcomes:
                    try:
                        outcomes += await actuator.apply([namesake])
                    except Forbidden:  # the right takes a moment
                        await anyio.sleep(0.1)
            assert isinstance(outcomes[0], Lost), outcomes
            assert "deletionTimestamp" not in api.get(f"{pods}/plugin")["metadata"]

            assert await actuator.apply([order]) == [Done()]
            assert "deletionTimestamp" in api.get(f"{pods}/plugin")["metadata"]
            api.delete(f"{pods}/plugin", gracePeriodSeconds=0)
            [gone] = await actuator.apply([order])
            assert isinstance(gone, Lost)


@pytest.mark.usefixtures("installation")
async def test_a_fence_comes_and_goes_and_the_labels_last_writer_is_known(
    control_plane: ControlPlane, namespace: str
) -> None:
    api = control_plane.api
    probe: Any = None  # none is ordered here
    kubeconfig = control_plane.kubeconfig_for_service_account(NAMESPACE, "gpu-reconciler")
    reader = sources.nodes(lambda trouble: None).reader
    with bare_node(control_plane, f"node-{namespace}"[:63]) as path:
        name = path.rpartition("/")[2]

        def node() -> Any:
            page = reader.page(control_plane.kubectl("get", "--raw", "/api/v1/nodes").encode())
            return next(item.view for item in page.items if item.key == name)

        async with connect(kubeconfig) as transport:
            actuator = KubeActuator(transport, may_write=unfenced, probe=probe, catalog=Notebook(), clock=Clock())
            assert node().profile_writer == ""
            assert await actuator.apply([Advertise(node().key, labels={names.PLUGIN_CONFIG: "ts-4"})]) == [Done()]
            assert node().profile_writer == "gpu-reconciler"
            control_plane.kubectl("label", "node", name, f"{names.PLUGIN_CONFIG}=exclusive", "--overwrite")
            assert node().profile_writer == "kubectl-label"

            before = node()
            taint = fence.taint(fence.SLICING, datetime.now(UTC) + timedelta(minutes=5))
            order = SetTaint(before.key, taint, before.taints, before.resource_version)
            assert await actuator.apply([order]) == [Done()]
            assert node().taints == (*before.taints, taint)
            with pytest.raises(Stale):
                await actuator.apply([order])
            clear = ClearTaint(before.key, taint.key, before.taints, node().resource_version)
            assert await actuator.apply([clear]) == [Done()]
            assert node().taints == before.taints
            assert api.get(path)["spec"].get("taints") is None
