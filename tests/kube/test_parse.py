"""kube/parse: the bytes that a cluster serves become views, odd ones included."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reconciler.kube.parse import EPOCH, NodeParser, node_claim
from reconciler.kube.wire import ClaimWire, NodeWire
from reconciler.model.node import CapacityType, InstanceType, NodeClaimView, NodeView, Taint
from reconciler.model.record import CapacityRecord, Source, UnreadableRecord
from reconciler.model.sharing_record import SharingRecord

GIB = 1 << 30

NODE: dict[str, Any] = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {
        "name": "ip-10-0-1-7.eu-west-1.compute.internal",
        "uid": "6b1d6f5a",
        "resourceVersion": "4711",
        "creationTimestamp": "2026-03-01T10:00:00Z",
        "labels": {"node.kubernetes.io/instance-type": "g4dn.xlarge", "karpenter.sh/capacity-type": "spot"},
        "annotations": {"foreign": "x" * 50, "gpu-reconciler.io/capacity": ""},
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
    },
    "spec": {
        "providerID": "aws:///eu-west-1a/i-0abc",
        "taints": [
            {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-03-01T11:00:00Z"},
        ],
    },
    "status": {
        "capacity": {"cpu": "4", "memory": "16069564Ki", "nvidia.com/gpu": "1", "veriff.com/gpu-memory": "15Gi"},
        "allocatable": {"cpu": "3920m", "memory": "15Gi", "nvidia.com/gpu": "1", "veriff.com/gpu-memory": "15Gi"},
        "conditions": [
            {"type": "MemoryPressure", "status": "False", "lastTransitionTime": "2026-03-01T10:00:00Z"},
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-03-01T12:00:00Z"},
            {
                "type": "GPUMemoryReady",
                "status": "True",
                "reason": "Verified",
                "message": "15360 MiB",
                "lastTransitionTime": "2026-03-01T10:05:00Z",
            },
        ],
        "nodeInfo": {"bootID": "b-1", "osImage": "Amazon Linux 2023", "kernelVersion": "6.1"},
        "images": [{"names": ["x"], "sizeBytes": 1}],
    },
}


def node(document: Any) -> tuple[NodeView, list[str]]:
    odd: list[str] = []
    return NodeParser()(msgspec.json.decode(json.dumps(document), type=NodeWire), odd.append), odd


def changed(**parts: Any) -> dict[str, Any]:
    """NODE with fields of its parts replaced; None removes one."""
    document = json.loads(json.dumps(NODE))
    for part, fields in parts.items():
        for name, value in fields.items():
            if value is None:
                del document[part][name]
            else:
                document[part][name] = value
    return dict(document)


def test_a_gpu_node_is_read_with_all_that_decisions_look_at() -> None:
    view, odd = node(changed(metadata={"annotations": {"gpu-reconciler.io/capacity": "no"}}))

    assert odd == []
    assert (view.name, view.key.uid, view.resource_version) == (NODE["metadata"]["name"], "6b1d6f5a", "4711")
    assert view.instance_type == "g4dn.xlarge"
    assert view.capacity_type is CapacityType.SPOT
    assert (view.boot_id, view.os_image, view.provider_id) == ("b-1", "Amazon Linux 2023", "aws:///eu-west-1a/i-0abc")
    assert view.ready
    assert view.created == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert view.labels == NODE["metadata"]["labels"]
    assert view.taints == (
        Taint("nvidia.com/gpu", "NoSchedule", "true"),
        Taint("node.kubernetes.io/unreachable", "NoExecute", None, "2026-03-01T11:00:00Z"),
    )
    assert view.capacity["veriff.com/gpu-memory"] == 15 * GIB
    assert (view.capacity["cpu"], view.allocatable["cpu"]) == (4000, 3920)
    assert view.condition is not None
    assert (view.condition.reason, view.condition.since) == ("Verified", datetime(2026, 3, 1, 10, 5, tzinfo=UTC))
    assert isinstance(view.record, UnreadableRecord)


def test_our_record_is_read_back_as_it_was_written() -> None:
    record = CapacityRecord("veriff.com/gpu-memory", 15079, Source.NVML, "Tesla T4", 1, 16384, "b-1")
    view, _ = node(changed(metadata={"annotations": {"gpu-reconciler.io/capacity": record.to_json()}}))

    assert view.record == record


def test_what_we_said_about_sharing_is_read_beside_what_we_said_about_memory() -> None:
    record = SharingRecord("ts-4", datetime(2026, 3, 1, 11, tzinfo=UTC), restarts=1)
    annotations = {"gpu-reconciler.io/sharing": record.to_json(), "gpu-reconciler.io/capacity": "no"}
    sliced = {"type": "GPUSharingReady", "status": "False", "reason": "Switching", "message": "m"}
    conditions = [*NODE["status"]["conditions"], sliced]
    view, _ = node(changed(metadata={"annotations": annotations}, status={"conditions": conditions}))

    assert view.sharing_record == record
    assert view.sharing_condition is not None
    assert (view.sharing_condition.reason, view.sharing_condition.status) == ("Switching", "False")
    assert view.condition is not None
    assert view.condition.reason == "Verified"
    broken, _ = node(changed(metadata={"annotations": {"gpu-reconciler.io/sharing": "{}"}}))
    assert isinstance(broken.sharing_record, UnreadableRecord)


def test_the_labels_writer_is_looked_up_only_where_the_label_is() -> None:
    fields: Any = {"f:metadata": {"f:labels": {"f:nvidia.com/device-plugin.config": {}}}}
    entries = [{"manager": "karpenter", "time": "2026-03-01T10:00:00Z", "fieldsV1": fields}]
    labels = {**NODE["metadata"]["labels"], "nvidia.com/device-plugin.config": "ts-4"}
    labelled, _ = node(changed(metadata={"labels": labels, "managedFields": entries}))
    without, _ = node(changed(metadata={"managedFields": entries}))
    odd, _ = node(changed(metadata={"labels": labels, "managedFields": "none"}))

    assert (labelled.profile_writer, without.profile_writer, odd.profile_writer) == ("karpenter", "", "")


def test_a_node_with_nothing_but_a_name_is_a_fine_node() -> None:
    for document in (
        {"metadata": {"name": "n"}},
        {"metadata": {"name": "n", "labels": None, "annotations": None}, "spec": None, "status": None},
        {
            "metadata": {"name": "n", "creationTimestamp": None},
            "spec": {"taints": None, "providerID": None},
            "status": {"capacity": None, "allocatable": None, "conditions": None, "nodeInfo": None},
        },
    ):
        view, odd = node(document)
        assert odd == []
        assert (view.instance_type, view.labels, view.capacity, view.created) == (None, {}, {}, EPOCH)
        assert not view.ready


def test_the_older_label_names_the_type_where_the_newer_is_missing() -> None:
    view, _ = node(changed(metadata={"labels": {"beta.kubernetes.io/instance-type": "p3.2xlarge"}}))

    assert view.instance_type == "p3.2xlarge"


ODD = [
    ({"status": {"capacity": {"cpu": "4", "x.io/y": "many"}}}, "x.io/y: 'many' is not a quantity"),
    ({"status": {"capacity": {"cpu": "4", "x.io/y": {"a": 1}}}}, "no resource is taken from it"),
    ({"metadata": {"creationTimestamp": "yesterday"}}, "metadata.creationTimestamp is 'yesterday'"),
    (
        {"status": {"conditions": [{"type": "GPUMemoryReady", "lastTransitionTime": "?"}]}},
        "status.conditions[GPUMemoryReady].lastTransitionTime is '?'",
    ),
]


@pytest.mark.parametrize(("parts", "says"), ODD)
def test_an_odd_field_is_told_by_name_and_stepped_over(parts: dict[str, Any], says: str) -> None:
    view, odd = node(changed(**parts))

    assert view.key.uid == "6b1d6f5a"
    assert len(odd) == 1
    assert says in odd[0]


def test_numbers_are_quantities_too() -> None:
    """Other tools and people write them."""
    view, odd = node(changed(status={"capacity": {"cpu": 4, "x": 7, "y": 0.5}}))

    assert odd == []
    assert view.capacity == {"cpu": 4000, "x": 7, "y": 1}


def test_nodes_of_one_kind_share_their_tables() -> None:
    parser = NodeParser()
    data = json.dumps(NODE).encode()
    first, second = (parser(msgspec.json.decode(data, type=NodeWire), lambda why: None) for _ in range(2))

    assert first == second
    assert first.capacity is second.capacity


CLAIMS = [
    ({"metadata": {"name": "c"}}, NodeClaimView("c", None, None)),
    (
        {
            "metadata": {"name": "c", "labels": {"node.kubernetes.io/instance-type": "g5.xlarge"}},
            "status": {"nodeName": "n1"},
        },
        NodeClaimView("c", InstanceType("g5.xlarge"), None),
    ),
    (
        {
            "metadata": {"name": "c", "labels": None},
            "spec": {
                "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g6.xlarge"]}]
            },
        },
        NodeClaimView("c", InstanceType("g6.xlarge"), None),
    ),
    (
        {
            "metadata": {"name": "c"},
            "spec": {
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["a", "b"]},
                    {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": ["c"]},
                    {"key": "x", "operator": "Exists"},
                ]
            },
        },
        NodeClaimView("c", None, None),
    ),
]


@pytest.mark.parametrize(("document", "view"), CLAIMS)
def test_a_claim_names_its_type_as_soon_as_only_one_is_left(document: Any, view: NodeClaimView) -> None:
    found = node_claim(msgspec.json.decode(json.dumps(document), type=ClaimWire), lambda why: None)

    assert (found.name, found.instance_type) == (view.name, view.instance_type)


CLAIM = {
    "metadata": {"name": "c", "creationTimestamp": "2026-03-01T10:00:00Z"},
    "spec": {"resources": {"requests": {"cpu": "150m", "gpu-reconciler.io/gpu-memory": "4Gi", "pods": "3"}}},
    "status": {
        "nodeName": "n1",
        "capacity": {"cpu": "4", "gpu-reconciler.io/gpu-memory": "14Gi"},
        "conditions": [
            {"type": "Registered", "status": "True"},
            {
                "type": "Initialized",
                "status": "Unknown",
                "reason": "ResourceNotRegistered",
                "message": 'Resource "gpu-reconciler.io/gpu-memory" was requested but not registered',
                "lastTransitionTime": "2026-03-01T10:02:00Z",
            },
            {"type": "ConsistentStateFound", "status": "False", "reason": "NodeShapeInconsistent"},
        ],
    },
}


def claim(document: Any) -> tuple[NodeClaimView, list[str]]:
    odd: list[str] = []
    return node_claim(msgspec.json.decode(json.dumps(document), type=ClaimWire), odd.append), odd


def test_a_claim_says_how_far_it_is_and_what_is_asked_and_expected_of_its_node() -> None:
    view, odd = claim(CLAIM)

    assert odd == []
    assert view.node == "n1"
    assert view.initialized is not None
    assert (view.initialized.status, view.initialized.reason) == ("Unknown", "ResourceNotRegistered")
    assert view.initialized.since == datetime(2026, 3, 1, 10, 2, tzinfo=UTC)
    assert view.consistent is not None
    assert (view.consistent.status, view.consistent.reason) == ("False", "NodeShapeInconsistent")
    assert view.requests == {"cpu": 150, "gpu-reconciler.io/gpu-memory": 4 * GIB, "pods": 3}
    assert view.capacity == {"cpu": 4000, "gpu-reconciler.io/gpu-memory": 14 * GIB}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"spec": None, "status": None},
        {"spec": {"resources": None, "requirements": None}, "status": {"conditions": None, "capacity": None}},
        {"spec": {"resources": {"requests": None}}, "status": {"conditions": [{}]}},
    ],
)
def test_a_claim_with_nothing_but_a_name_promises_nothing(parts: dict[str, Any]) -> None:
    assert claim({"metadata": {"name": "c"}, **parts}) == (NodeClaimView("c", None, None), [])


def test_an_odd_amount_of_a_claim_is_told_and_left_out() -> None:
    view, odd = claim({"metadata": {"name": "c"}, "status": {"capacity": {"x.io/y": "many", "cpu": 1}}})

    assert view.capacity == {"cpu": 1000}
    assert odd == [
        "status.capacity.x.io/y: 'many' is not a quantity such as 15079Mi, 15Gi or 500m; the resource is left out"
    ]
