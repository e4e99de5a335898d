"""serve/metrics.py: node series live as long as their node, and show one verdict at a time."""

from dataclasses import replace
from datetime import UTC, datetime

from reconciler.model.node import InstanceType, NodeKey, NodeName, NodeView
from reconciler.model.plan import Advertise, Plan
from reconciler.model.reasons import Reason, SharingReason
from reconciler.model.record import CapacityRecord, Source
from reconciler.serve.metrics import Metrics

NODE = NodeView(
    key=NodeKey(NodeName("a"), "uid"),
    instance_type=InstanceType("g4dn.xlarge"),
    boot_id="b",
    ready=True,
    created=datetime(2026, 1, 1, tzinfo=UTC),
    labels={},
    taints=(),
    capacity={},
    allocatable={},
)


def lines(metrics: Metrics, family: str) -> list[str]:
    return [line for line in metrics.text().decode().splitlines() if line.startswith(f"{family}{{")]


def test_a_node_shows_the_bytes_that_its_record_says_and_its_source() -> None:
    metrics = Metrics()
    record = CapacityRecord("example.com/gpu-memory", 14910, Source.NVML)
    metrics.planned(replace(NODE, record=record), Plan(Reason.VERIFIED, "well"))

    [line] = lines(metrics, "gpu_reconciler_node_advertised_bytes")
    assert line == (
        'gpu_reconciler_node_advertised_bytes{instance_type="g4dn.xlarge",node="a",source="nvml"} 1.563426816e+10'
    )


def test_a_new_verdict_replaces_the_old_one() -> None:
    metrics = Metrics()
    metrics.planned(NODE, Plan(Reason.PROVISIONAL, "soon"))
    metrics.planned(NODE, Plan(Reason.VERIFIED, "now"))

    [line] = lines(metrics, "gpu_reconciler_node_verdict")
    assert 'reason="Verified"' in line


def test_a_node_that_is_gone_leaves_no_series() -> None:
    metrics = Metrics()
    metrics.planned(NODE, Plan(Reason.VERIFIED, "well"))
    metrics.gone(NODE.name)
    metrics.gone(NODE.name)

    assert lines(metrics, "gpu_reconciler_node_verdict") == []
    assert lines(metrics, "gpu_reconciler_node_advertised_bytes") == []


def test_planned_actions_are_counted_by_kind() -> None:
    metrics = Metrics()
    metrics.planned(NODE, Plan(Reason.PROVISIONAL, "soon", (Advertise(NODE.key), Advertise(NODE.key))))

    assert 'gpu_reconciler_planned_actions_total{kind="Advertise"} 2.0' in metrics.text().decode()


def test_a_replica_that_ceases_to_lead_shows_no_node_any_more() -> None:
    """Its verdicts would stand for ever, and alerts with them, while the new leader says otherwise."""
    metrics = Metrics()
    metrics.leading(True)
    metrics.planned(NODE, Plan(Reason.NO_NVML, "bad"))
    metrics.leading(False)

    assert lines(metrics, "gpu_reconciler_node_verdict") == []
    assert "gpu_reconciler_leader 0.0" in metrics.text().decode()


def test_a_nodes_sharing_shows_while_a_rule_is_for_it() -> None:
    metrics = Metrics()
    metrics.planned(NODE, Plan(Reason.VERIFIED, "well"), SharingReason.SLICED)
    [line] = lines(metrics, "gpu_reconciler_node_sharing")
    assert line == 'gpu_reconciler_node_sharing{instance_type="g4dn.xlarge",node="a",reason="Sliced"} 1.0'

    metrics.planned(NODE, Plan(Reason.VERIFIED, "well"))
    assert lines(metrics, "gpu_reconciler_node_sharing") == []
