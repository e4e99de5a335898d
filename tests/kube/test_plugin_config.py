"""kube/plugin_config and plugin_cache: the device plugin's ConfigMap and pods are known as they are, and as they go."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import anyio
import msgspec

from reconciler.kube import sources
from reconciler.kube.news import Seen, Synced, Vanished
from reconciler.kube.plugin_cache import PluginCache
from reconciler.kube.plugin_config import LARGEST, PluginConfigWire, plugin_config
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Watcher
from reconciler.model.node import NodeName
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig, Profile, UnusableProfile
from reconciler.model.workload import PodRef
from reconciler.sandbox.mishaps import FORBIDDEN
from tests.kube.world import STEADY, World, virtual

NAMESPACE = "nvidia-device-plugin"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SELECTOR = "app.kubernetes.io/name=nvidia-device-plugin"


def sliced(replicas: int) -> str:
    return f"version: v1\nsharing: {{timeSlicing: {{resources: [{{name: nvidia.com/gpu, replicas: {replicas}}}]}}}}\n"


def read(document: dict[str, Any]) -> PluginConfig:
    odd: list[str] = []
    document = {**document, "metadata": {"name": "gpu-profiles", **document.get("metadata", {})}}
    found = plugin_config(msgspec.json.decode(json.dumps(document), type=PluginConfigWire), odd.append)
    assert odd == []
    return found


def test_a_key_that_the_plugin_would_refuse_leaves_the_others_usable() -> None:
    data = {"exclusive": "version: v1\n", "ts-4": sliced(4), "bad": sliced(1), "null": None, "text": "a: b: c"}
    found = read({"data": data, "binaryData": {"blob": "AAEC"}})

    assert {key: one for key, one in found.profiles.items() if isinstance(one, Profile)} == {
        "exclusive": Profile(),
        "ts-4": Profile(4),
        "null": Profile(),
    }
    assert {key for key, one in found.profiles.items() if isinstance(one, UnusableProfile)} == {"bad", "text", "blob"}
    assert found.profiles["blob"] == UnusableProfile("it is under binaryData, so it is no text")


def test_a_config_map_without_data_offers_nothing() -> None:
    for document in ({}, {"data": None, "binaryData": None}):
        assert read(document) == PluginConfig({}, None)


def test_profiles_beyond_what_is_read_are_told_and_those_before_are_read() -> None:
    """A ConfigMap of a megabyte, read slowly, would keep the lease from being renewed."""
    data = {f"ts-{number:03d}": f"# {'x' * 5000}\n{sliced(4)}" for number in range(20)}
    found = read({"data": data}).profiles

    usable = [key for key, one in found.items() if isinstance(one, Profile)]
    assert usable == sorted(data)[: len(usable)]
    assert 0 < len(usable) < 20
    assert found["ts-019"] == UnusableProfile(f"the profiles have more than {LARGEST} bytes together: this is not read")


def test_a_config_map_has_changed_when_anybody_last_wrote_it_or_else_when_it_was_made() -> None:
    created = {"creationTimestamp": "2026-03-01T10:00:00Z"}
    written = [
        {"manager": "helm", "time": "2026-03-01T10:00:00Z"},
        {"manager": "kubectl", "time": "2026-03-02T09:00:00Z"},
    ]

    assert read({"metadata": {**created, "managedFields": written}}).changed == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert read({"metadata": {**created, "managedFields": None}}).changed == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert read({"metadata": created}).changed == datetime(2026, 3, 1, 10, tzinfo=UTC)


class Told:
    """A cache and what it told, in order; `*` stands for every node."""

    def __init__(self) -> None:
        self.news: list[str] = []
        self.cache = PluginCache(self.news.append, lambda: self.news.append("*"))


def pod(uid: str, on: str, hour: int | None = 12, *, ready: bool = True) -> PluginPod:
    started = None if hour is None else datetime(2026, 3, 1, hour, tzinfo=UTC)
    return PluginPod(PodRef(NAMESPACE, f"p-{uid}", uid), NodeName(on), started, ready)


def test_a_nodes_pods_come_newest_last_and_tell_their_node() -> None:
    told = Told()
    for one in (pod("b", "n1", 13), pod("a", "n1", 12), pod("c", "n1", None), pod("d", "n2")):
        told.cache.pods.take(Seen(one.ref.uid, one))
    assert [one.ref.uid for one in told.cache.on_node(NodeName("n1"))] == ["c", "a", "b"]

    told.cache.pods.take(Seen("a", pod("a", "n1", 12)))
    told.cache.pods.take(Seen("a", pod("a", "n1", 12, ready=False)))
    told.cache.pods.take(Vanished("d"))
    told.cache.pods.take(Synced({"a"}))

    assert told.news == ["n1", "n1", "n1", "n2", "n1", "n2", "n1", "n1"]
    assert [one.ref.uid for one in told.cache.on_node(NodeName("n1"))] == ["a"]
    assert told.cache.on_node(NodeName("n2")) == ()


def test_a_pod_that_is_bound_elsewhere_tells_both_nodes() -> None:
    told = Told()
    told.cache.pods.take(Seen("a", pod("a", "n1")))
    told.cache.pods.take(Seen("a", pod("a", "n2")))

    assert told.news == ["n1", "n1", "n2"]
    assert told.cache.on_node(NodeName("n1")) == ()


class Following:
    """Both watches on a small cluster with the plugin's namespace."""

    def __init__(self) -> None:
        self.world = World()
        self.world.do("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.told = Told()
        report = self.world.report
        self.config = self._watcher(sources.plugin_config_map(report, NAMESPACE, "gpu-profiles"), "configs")
        self.pods = self._watcher(sources.plugin_pods(report, NAMESPACE, SELECTOR), "pods")

    def _watcher(self, source: Any, sink: str) -> Watcher[Any]:
        take = getattr(self.told.cache, sink).take
        return Watcher(self.world.transport, source, take, backoff=STEADY, report=self.world.report)

    def found(self) -> PluginConfig | None:
        return self.told.cache.config

    def profiles(self) -> Mapping[str, object]:
        found = self.found()
        assert found is not None
        assert found.changed is not None
        return found.profiles

    def write(self, name: str, data: dict[str, str]) -> None:
        self.world.do("POST", CONFIG_MAPS, {"metadata": {"name": name}, "data": data})


@virtual
async def test_the_config_map_is_followed_and_its_neighbours_are_not() -> None:
    story = Following()
    story.write("other", {"ts-9": sliced(9)})
    async with anyio.create_task_group() as group:
        group.start_soon(story.config.run)
        await story.config.synced.wait()
        assert (story.found(), story.told.news) == (None, [])

        story.write("gpu-profiles", {"ts-4": sliced(4)})
        await anyio.sleep(1)
        assert story.profiles() == {"ts-4": Profile(4)}

        story.world.merge(f"{CONFIG_MAPS}/gpu-profiles", {"data": {"ts-2": sliced(2)}})
        await anyio.sleep(1)
        assert story.profiles() == {"ts-2": Profile(2), "ts-4": Profile(4)}

        story.world.do("DELETE", f"{CONFIG_MAPS}/gpu-profiles")
        await anyio.sleep(1)
        assert story.found() is None
        assert story.told.news == ["*", "*", "*"]
        group.cancel_scope.cancel()


@virtual
async def test_without_a_right_in_the_plugins_namespace_there_is_no_config_map_and_it_is_told() -> None:
    """A cluster that has no plugin yet, or no Role for us there, must not keep memory from being advertised."""
    story = Following()
    story.write("gpu-profiles", {"ts-4": sliced(4)})
    story.world.faults.add(FORBIDDEN, path=CONFIG_MAPS, times=2)
    async with anyio.create_task_group() as group:
        group.start_soon(story.config.run)
        await story.config.synced.wait()
        assert story.found() is None
        [trouble] = [one for one in story.world.troubles if one.kind == "ConfigMap"]
        assert "403" in trouble.why

        await anyio.sleep(120)
        assert story.found() is not None, "the right has been given meanwhile"
        group.cancel_scope.cancel()


@virtual
async def test_the_plugins_pods_are_chosen_by_their_labels() -> None:
    story = Following()
    labels = {"app.kubernetes.io/name": "nvidia-device-plugin"}
    for name, chosen in (("plugin", labels), ("job", {})):
        spec = {"nodeName": "n1", "containers": [{"name": "nvidia-device-plugin-ctr", "image": "x"}]}
        story.world.do("POST", PODS, {"metadata": {"name": name, "labels": chosen}, "spec": spec})
    async with anyio.create_task_group() as group:
        group.start_soon(story.pods.run)
        await story.pods.synced.wait()
        assert [one.ref.name for one in story.told.cache.on_node(NodeName("n1"))] == ["plugin"]

        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        story.world.merge(f"{PODS}/plugin/status", {"status": status})
        await anyio.sleep(1)
        [found] = story.told.cache.on_node(NodeName("n1"))
        assert (found.ready, found.config_manager) == (True, False)

        story.world.merge(f"{PODS}/plugin/status", {"status": {"phase": "Failed"}})
        await anyio.sleep(1)
        assert story.told.cache.on_node(NodeName("n1")) == ()
        group.cancel_scope.cancel()


def test_an_odd_creation_time_is_told() -> None:
    told: list[Trouble] = []
    source = sources.plugin_config_map(told.append, NAMESPACE, "x")
    page = {"metadata": {}, "items": [{"metadata": {"name": "x", "creationTimestamp": "soon"}}]}

    [item] = source.reader.page(json.dumps(page).encode()).items
    assert item.view == PluginConfig({}, None)
    assert [trouble.name for trouble in told] == ["x"]
