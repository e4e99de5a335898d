"""app/explaining.py: a file lacks what a cluster knows, and that alone is nothing that would be done."""

import json
from datetime import UTC, datetime

import pytest

from reconciler.app.explaining import from_dump
from reconciler.aws.builtin import builtin
from reconciler.decide.explanation import Explanation
from reconciler.decide.node import NodePolicy
from reconciler.kube.offline import read
from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.probe_report import GpuReading, ProbeReport
from reconciler.model.probe_state import Probed
from reconciler.model.record import CapacityRecord, Source

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = NodePolicy(CapacityPolicy(), SlicingPolicy())
MIB = 2**20
GPU = GpuReading(index=0, name="Tesla T4", uuid="GPU-1", total=15360 * MIB, reserved=450 * MIB)
RECORD = CapacityRecord(
    names.MEMORY_RESOURCE,
    14910,
    Source.NVML,
    gpu="T4",
    count=1,
    ec2_mib=24576,  # far off, and only EC2 has ever said so
    boot_id="b",
    probe=Probed(ProbeReport(gpus=(GPU,)), NOW),
    seen=NOW,
)


def explained(*, value: str = "14910Mi", record: str = RECORD.to_json(), kind: str = "g4dn.xlarge") -> Explanation:
    """A node whose value and words a controller has written that could ask EC2."""
    there = {"pods": "29", names.MEMORY_RESOURCE: value}
    labels = {
        names.LABEL_INSTANCE_TYPE: kind,
        names.LABEL_MODEL: "T4",
        names.LABEL_MEMORY_MIB: "15360",
        names.LABEL_COUNT: "1",
        names.LABEL_SOURCE: "nvml",
    }
    told = {"type": names.CONDITION, "status": "True", "reason": "Mismatch", "message": "in words of then"}
    node = {
        "kind": "Node",
        "metadata": {"name": "t4", "uid": "u", "labels": labels, "annotations": {names.RECORD: record}},
        "status": {
            "capacity": there,
            "allocatable": there,
            "nodeInfo": {"bootID": "b"},
            "conditions": [{"type": "Ready", "status": "True"}, told],
        },
    }
    dump = read(json.dumps({"kind": "List", "items": [node]}).encode(), lambda trouble: None)
    table = builtin()
    [one] = from_dump(dump, lambda kind: table.answer_or_unknown(kind, "nobody is asked"), POLICY, NOW, None)
    return one


def test_a_node_that_is_right_is_right_in_a_file_too_with_what_ec2_said_when_it_was_asked() -> None:
    one = explained()
    assert (one.reason, one.mib, one.source) == ("Mismatch", 14910, Source.NVML)
    assert one.actions == ()


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [({"value": "1Gi"}, ["Advertise"]), ({"record": "broken"}, ["Announce", "Announce", "Advertise", "RunProbe"])],
    ids=["another-value", "a-broken-record"],
)
def test_what_is_wrong_on_the_node_would_still_be_done(changed: dict[str, str], kinds: list[str]) -> None:
    assert [type(action).__name__ for action in explained(**changed).actions] == kinds


def test_a_type_that_the_table_does_not_know_is_not_being_asked_for() -> None:
    one = explained(kind="g99.xlarge", record=CapacityRecord(names.MEMORY_RESOURCE, None, Source.NONE).to_json())
    assert one.reason == "UnknownType"
    assert "nobody is asked" in one.because
