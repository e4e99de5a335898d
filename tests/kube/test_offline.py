"""kube/offline.py: a file of kubectl's is read without a cluster, and a bad one is refused with its line."""

import json
from dataclasses import replace
from typing import Any

import pytest

from reconciler.kube.offline import UnreadableFile, read
from reconciler.kube.plugin_place import PluginPlace
from reconciler.kube.trouble import Trouble
from reconciler.model.sharing import PluginConfig, Profile

NODE = {"kind": "Node", "metadata": {"name": "a", "uid": "u"}, "status": {"capacity": {"cpu": "4"}}}
POD = {
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "n", "uid": "v"},
    "spec": {"nodeName": "a", "containers": []},
}
ENDED = POD | {"status": {"phase": "Succeeded"}}
DEEP = b"[" * 5000 + b"]" * 5000
OTHER = {"kind": "ConfigMap", "metadata": {"name": "c"}}


def refuse(trouble: Trouble) -> None:
    raise AssertionError(trouble)


def test_nodes_and_the_pods_that_hold_something_are_read_and_other_kinds_passed_over() -> None:
    dump = read(json.dumps({"kind": "List", "items": [NODE, POD, ENDED, OTHER]}, indent=1).encode(), refuse)

    assert [node.name for node in dump.nodes] == ["a"]
    assert dump.nodes[0].capacity == {"cpu": 4000}
    assert [pod.ref.name for pod in dump.pods] == ["p"]


PLACE = PluginPlace("nvidia", "gpu-profiles", "app=plugin,!canary")
SLICED = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}"


def of_plugin(kind: str, name: str, namespace: str = "nvidia", **parts: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "uid": name, **parts.pop("metadata", {})}
    return {"kind": kind, "metadata": meta, **parts}


def test_what_the_decision_on_sharing_looks_at_is_read_where_the_file_has_it() -> None:
    spec = {"nodeName": "a", "containers": [{"name": "nvidia-device-plugin-ctr"}]}
    labels = {"labels": {"app": "plugin"}}
    items = [
        NODE,
        OTHER,
        of_plugin("ConfigMap", "gpu-profiles", data={"ts-4": SLICED}),
        of_plugin("ConfigMap", "gpu-profiles", "elsewhere", data={"ts-9": SLICED}),
        of_plugin("Pod", "plugin", spec=spec, metadata=labels),
        of_plugin("Pod", "of-another-app", spec=spec),
        of_plugin("Pod", "elsewhere", "prod", spec=spec, metadata=labels),
        of_plugin("Pod", "ended", spec=spec, metadata=labels, status={"phase": "Failed"}),
        of_plugin("Pod", "canary", spec=spec, metadata={"labels": {"app": "plugin", "canary": ""}}),
        {"kind": "NodePool", "metadata": {"name": "dev"}, "spec": {"template": {"metadata": {"labels": {"x": "y"}}}}},
        {"kind": "NodeClaim", "metadata": {"name": "dev-1"}, "status": {"nodeName": "a"}},
    ]
    content = json.dumps({"kind": "List", "items": items}).encode()
    dump = read(content, refuse, PLACE)

    assert dump.plugin_config == PluginConfig({"ts-4": Profile(4)})
    assert [pod.ref.name for pod in dump.plugin_pods] == ["plugin"]
    assert len(dump.pods) == 4, "the plugin's pods are pods too, and hold what they hold"
    assert [pool.labels for pool in dump.pools] == [{"x": "y"}]
    assert [claim.node for claim in dump.claims] == ["a"]
    assert dump.config_maps

    unasked = read(content, refuse)
    assert (unasked.plugin_config, unasked.plugin_pods, unasked.config_maps) == (None, (), False)


def test_a_file_without_config_maps_says_nothing_about_the_plugins() -> None:
    dump = read(json.dumps(NODE).encode(), refuse, PLACE)

    assert (dump.plugin_config, dump.config_maps) == (None, False)


def test_a_selector_that_is_none_is_told_and_no_pod_is_the_plugins() -> None:
    told: list[Trouble] = []
    spec = {"nodeName": "a", "containers": [{"name": "nvidia-device-plugin-ctr"}]}
    content = json.dumps({"kind": "List", "items": [NODE, of_plugin("Pod", "p", spec=spec)]}).encode()

    assert read(content, told.append, replace(PLACE, selector="app in plugin")).plugin_pods == ()
    assert [trouble.why for trouble in told] == [
        "'app in plugin' is no label selector from character 1 on; no pod of the file counts as the device plugin's"
    ]


def test_odd_fields_of_the_plugins_objects_are_told_by_namespace_and_name() -> None:
    told: list[Trouble] = []
    odd = of_plugin("ConfigMap", "gpu-profiles", metadata={"creationTimestamp": "soon"})

    read(json.dumps({"kind": "List", "items": [odd]}).encode(), told.append, PLACE)
    assert [(trouble.kind, trouble.name) for trouble in told] == [("ConfigMap", "nvidia/gpu-profiles")]


def test_a_single_node_is_a_file_too() -> None:
    assert [node.name for node in read(json.dumps(NODE).encode(), refuse).nodes] == ["a"]


def test_an_odd_field_is_told_and_stepped_over() -> None:
    told: list[Trouble] = []
    odd = NODE | {"status": {"capacity": {"cpu": "4", "veriff.com/gpu-memory": "much"}}}

    assert read(json.dumps(odd).encode(), told.append).nodes[0].capacity == {"cpu": 4000}
    assert [trouble.name for trouble in told] == ["a"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", 1),
        (b"kind: List\n", 1),
        (b'{"kind": "List",\n "items": [\n  x]}', 3),
        (b'{"kind": "List",\n "items": [', 2),
        (b'{"kind": "List",\n "note": "\xff"}', 2),
        (b"[]", 1),
        (b'{"kind": "List"}', 1),
        (b'{"kind":"List","items":[\n{"kind":"Node","metadata":{"name":"a"}},\n{"kind":"Node",\n"metadata":{}}]}', 3),
        (b'{"kind":"List","items":[\n7]}', 2),
        (b'{"kind":"List","note":"[[[[",\n"items":[' + b"[" * 200_000, 2),
        (b'{"kind":"List","items":[\n{"kind":"Node","metadata":{"name":"a"}},\n{"kind":"Node","x":' + DEEP + b"}]}", 3),
    ],
)
def test_an_unreadable_file_is_refused_with_its_line_and_what_was_expected(content: bytes, line: int) -> None:
    with pytest.raises(UnreadableFile, match=rf"^line {line}: .*kubectl get nodes,pods"):
        read(content, refuse)
