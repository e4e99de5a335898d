"""kube/offline.py: a file of kubectl's is read without a cluster, and a bad one is refused with its line."""

import json

import pytest

from reconciler.kube.offline import UnreadableFile, read
from reconciler.kube.trouble import Trouble

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
