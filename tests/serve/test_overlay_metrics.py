"""serve/overlay_metrics.py: what stands, what differs, and what is in the way."""

from prometheus_client import CollectorRegistry

from reconciler.model.overlay import Finding, OverlayPlan, OverlayReason
from reconciler.serve.overlay_metrics import OverlayMetrics
from tests.decide.paper_overlays import facts, plan, pool, types


def test_a_plan_is_shown_until_the_next() -> None:
    registry = CollectorRegistry()
    metrics = OverlayMetrics(registry)

    def found(reason: OverlayReason) -> float | None:
        return registry.get_sample_value("gpu_reconciler_overlay_findings", {"reason": reason.value})

    assert found(OverlayReason.CONFLICT) == 0, "the series is there before anything is wrong"
    what = plan(facts(pool("dev", types("g4dn.xlarge"))))
    conflict = Finding(OverlayReason.CONFLICT, "a", "it conflicts")
    metrics.overlays(OverlayPlan(what.wanted, what.actions, (conflict, conflict)))
    assert registry.get_sample_value("gpu_reconciler_overlays") == 1
    assert registry.get_sample_value("gpu_reconciler_overlay_changes") == 1
    assert found(OverlayReason.CONFLICT) == 2
    metrics.overlays(OverlayPlan())
    assert (registry.get_sample_value("gpu_reconciler_overlays"), found(OverlayReason.CONFLICT)) == (0, 0)
