"""What can be measured about NodeOverlays?"""

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge

from reconciler.model.overlay import OverlayPlan, OverlayReason


class OverlayMetrics:
    """Families of one loop, in the registry of all."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._wanted = Gauge("gpu_reconciler_overlays", "NodeOverlays that should stand.", registry=registry)
        self._changes = Gauge(
            "gpu_reconciler_overlay_changes",
            "NodeOverlays that differed from what they should be at the last look.",
            registry=registry,
        )
        self._findings = Gauge(
            "gpu_reconciler_overlay_findings",
            "What there is to say about overlays, by reason (docs/karpenter.md).",
            ["reason"],
            registry=registry,
        )
        for reason in OverlayReason:
            self._findings.labels(reason.value)  # 0 is an answer too: alerts need the series to be there

    def overlays(self, plan: OverlayPlan) -> None:
        """Show this plan."""
        self._wanted.set(len(plan.wanted))
        self._changes.set(len(plan.actions))
        count = Counter(finding.reason for finding in plan.findings)
        for reason in OverlayReason:
            self._findings.labels(reason.value).set(count[reason])
