"""kube/node_pools.py, overlays.py and overlay_offline.py: Karpenter's objects as it writes them, and odd ones."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reconciler.kube import node_pools, overlay_offline, overlays
from reconciler.kube.news import Seen, Vanished
from reconciler.kube.node_pools import NodePoolCache, NodePoolWire
from reconciler.kube.offline import UnreadableFile
from reconciler.kube.overlays import OverlayCache, OverlayWire
from reconciler.kube.trouble import Trouble
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.overlay import OverlayView, Subject

MIB = 1 << 20
TYPES = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g4dn.xlarge"]}

# As kubectl shows one that Karpenter 1.15 has judged.
OVERLAY: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": {
        "name": "gpu-reconciler-memory-14592mi",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-11-30T10:00:00Z",
        "labels": {"gpu-reconciler.io/overlay": "memory"},
        "managedFields": [
            {"manager": "gpu-reconciler", "operation": "Update", "time": "2026-11-30T11:00:00Z"},
            {"manager": "karpenter", "operation": "Update", "subresource": "status", "time": "2026-11-30T12:00:00Z"},
        ],
    },
    "spec": {
        "weight": 10,
        "requirements": [TYPES],
        "capacity": {"veriff.com/gpu-memory": "14592Mi", "nvidia.com/gpu": 4},
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 2},
            {
                "type": "ValidationSucceeded",
                "status": "True",
                "reason": "ValidationSucceeded",
                "message": "",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-11-30T12:00:00Z",
            },
        ]
    },
}
CONFLICT = {
    "type": "ValidationSucceeded",
    "status": "False",
    "reason": "Conflict",
    "message": "conflict with another overlay",
}
POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "dev", "uid": "p"},
    "spec": {
        "template": {
            "metadata": {"labels": {"team": "vision"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [TYPES, {"key": "team", "operator": "Exists"}, {**TYPES, "minValues": 2}],
            },
        },
        "limits": {"cpu": "100"},
    },
}


def overlay(document: dict[str, Any]) -> tuple[OverlayView, list[str]]:
    said: list[str] = []
    return overlays.parse(msgspec.json.decode(json.dumps(document), type=OverlayWire), said.append), said


def pool(document: dict[str, Any]) -> tuple[NodePoolView, list[str]]:
    said: list[str] = []
    return node_pools.parse(msgspec.json.decode(json.dumps(document), type=NodePoolWire), said.append), said


def changed(document: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """The document with parts of its sections replaced."""
    return {**document, **{section: {**document[section], **fields} for section, fields in parts.items()}}


def test_an_overlay_is_read_with_what_karpenter_says_of_it() -> None:
    view, said = overlay(OVERLAY)
    assert view == OverlayView(
        name="gpu-reconciler-memory-14592mi",
        uid="u",
        requirements=(Requirement("node.kubernetes.io/instance-type", "In", ("g4dn.xlarge",)),),
        capacity={"veriff.com/gpu-memory": 14592 * MIB, "nvidia.com/gpu": 4},
        weight=10,
        subject=Subject.MEMORY,
        changed=datetime(2026, 11, 30, 11, tzinfo=UTC),
        validated=True,
    )
    assert (view.resource_version, said) == ("7", [])


@pytest.mark.parametrize(
    ("status", "validated"),
    [
        (None, None),
        ({}, None),
        ({"conditions": None}, None),
        ({"conditions": [{**CONFLICT, "status": "Unknown"}]}, None),
        ({"conditions": [{**CONFLICT, "observedGeneration": 1}]}, None),
        ({"conditions": [{**CONFLICT, "observedGeneration": 2}]}, False),
        ({"conditions": [CONFLICT]}, False),
        ({"conditions": [{**CONFLICT, "status": "True"}]}, True),
    ],
)
def test_only_a_word_on_what_the_overlay_says_now_is_one(status: Any, validated: bool | None) -> None:
    view, _ = overlay({**OVERLAY, "status": status})
    assert view.validated is validated
    assert view.conflict is (validated is False)
    assert view.why_not == ("Conflict: conflict with another overlay" if validated is False else "")


def test_another_no_than_a_conflict_keeps_its_words() -> None:
    refused = {**CONFLICT, "reason": "RuntimeValidation", "message": "invalid capacity: cpu in resource, restricted"}
    view, _ = overlay({**OVERLAY, "status": {"conditions": [refused]}})
    assert (view.conflict, view.why_not) == (False, "RuntimeValidation: invalid capacity: cpu in resource, restricted")


def test_a_strangers_overlay_may_lack_all_but_a_name() -> None:
    view, said = overlay({"metadata": {"name": "bare"}, "spec": {"requirements": None, "capacity": None}})
    assert view == OverlayView("bare", "")
    assert (view.subject, said) == (None, [])


def test_odd_fields_are_told_and_stepped_over() -> None:
    odd = changed(
        OVERLAY,
        metadata={"labels": {"gpu-reconciler.io/overlay": "weather"}, "managedFields": [{"time": "yesterday"}]},
        spec={"capacity": {"a": "much", "b": "2"}, "requirements": [{"key": "x"}, TYPES]},
    )
    view, said = overlay(odd)
    assert (view.subject, view.capacity, len(view.requirements), view.changed) == (None, {"b": 2}, 1, None)
    assert len(said) == 4
    assert any("'weather'" in one for one in said)


def test_without_managed_fields_the_creation_is_the_last_change() -> None:
    view, _ = overlay(changed(OVERLAY, metadata={"managedFields": None}))
    assert view.changed == datetime(2026, 11, 30, 10, tzinfo=UTC)


def test_a_nodepool_is_read_as_far_as_it_says_which_nodes_may_come() -> None:
    view, said = pool(POOL)
    types = Requirement("node.kubernetes.io/instance-type", "In", ("g4dn.xlarge",))
    assert view == NodePoolView(
        "dev", (types, Requirement("team", "Exists"), types), {"team": "vision"}, "karpenter.k8s.aws"
    )
    assert (view.auto_mode, said) == (False, [])


def test_a_nodepool_may_be_auto_modes_or_on_its_way_out_or_bare() -> None:
    group = {"template": {"spec": {"nodeClassRef": {"group": "eks.amazonaws.com"}}}}
    assert pool({**POOL, "spec": group})[0].auto_mode
    assert pool(changed(POOL, metadata={"deletionTimestamp": "2026-11-30T10:00:00Z"}))[0].deleting
    assert pool({"metadata": {"name": "bare"}}) == (NodePoolView("bare"), [])


def test_caches_tell_of_each_change_and_keep_the_newest_version() -> None:
    told: list[int] = []
    pools, cache = NodePoolCache(lambda: told.append(1)), OverlayCache(lambda: told.append(2))
    view, _ = pool(POOL)
    pools.take(Seen("dev", view))
    pools.take(Seen("dev", view))
    assert (pools.get("dev"), dict(pools.labels("dev")), dict(pools.labels("prod"))) == (view, {"team": "vision"}, {})
    before, _ = overlay(OVERLAY)
    after, _ = overlay(changed(OVERLAY, metadata={"resourceVersion": "8"}))
    cache.take(Seen("o", before))
    cache.take(Seen("o", after))
    assert [one.resource_version for one in cache.views()] == ["8"], "a patch is written against it"
    cache.take(Vanished("o"))
    assert told == [1, 2, 2]


def test_a_file_of_kubectls_is_read_without_a_cluster() -> None:
    node = {"kind": "Node", "metadata": {"name": "a", "labels": {"node.kubernetes.io/instance-type": "g5.xlarge"}}}
    troubles: list[Trouble] = []
    items = [POOL, OVERLAY, node, {"kind": "ConfigMap", "metadata": {"name": "c"}}]
    dump = overlay_offline.read(json.dumps({"kind": "List", "items": items}).encode(), troubles.append)
    assert [one.name for one in dump.pools] == ["dev"]
    assert [one.name for one in dump.overlays] == ["gpu-reconciler-memory-14592mi"]
    assert [one.instance_type for one in dump.nodes] == ["g5.xlarge"]
    alone = overlay_offline.read(json.dumps(POOL).encode(), troubles.append)
    assert ([one.name for one in alone.pools], troubles) == (["dev"], [])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1: the file is empty"),
        (b"apiVersion: v1", "line 1"),
        (b'{"kind": "List"}', "there is no list of items"),
        (b'{"items": [\n{"kind": "NodePool", "metadata": {"name": 7}}]}', "line 2"),
    ],
)
def test_a_file_that_is_not_kubectls_is_refused_with_its_line(content: bytes, says: str) -> None:
    with pytest.raises(UnreadableFile) as refusal:
        overlay_offline.read(content, lambda trouble: None)
    assert says in str(refusal.value)
    assert "kubectl get nodepools,nodeoverlays,nodes -o json" in str(refusal.value)
