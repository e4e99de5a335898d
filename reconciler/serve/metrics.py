"""What can be measured? The Prometheus families of the controller, in base units, one registry."""

from collections import Counter as Counted
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from reconciler.model import quantity
from reconciler.model.node import NodeName, NodeView
from reconciler.model.overlay import OverlayPlan
from reconciler.model.plan import Plan
from reconciler.model.reasons import SharingReason
from reconciler.model.record import CapacityRecord
from reconciler.serve.watch_metrics import Watched, WatchMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Everything the controller counts. Node series live as long as the node does."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._passes = Counter(
            "gpu_reconciler_passes", "Turns of the loops by result.", ["loop", "result"], registry=self.registry
        )
        self._seconds = Histogram(
            "gpu_reconciler_pass_seconds",
            "How long a turn took, in seconds.",
            ["loop"],
            buckets=(0.005, 0.025, 0.1, 0.5, 2.5, 10, 60),
            registry=self.registry,
        )
        self._actions = Counter(
            "gpu_reconciler_planned_actions", "Actions that plans held, by kind.", ["kind"], registry=self.registry
        )
        self._advertised = Gauge(
            "gpu_reconciler_node_advertised_bytes",
            "GPU memory that the node advertises as we last said, in bytes.",
            ["node", "instance_type", "source"],
            registry=self.registry,
        )
        self._verdict = Gauge(
            "gpu_reconciler_node_verdict",
            "1 for the reason that holds for the node (docs/reasons.md).",
            ["node", "instance_type", "reason"],
            registry=self.registry,
        )
        self._sharing = Gauge(
            "gpu_reconciler_node_sharing",
            "1 for the reason that holds for the node's sharing (docs/sharing.md).",
            ["node", "instance_type", "reason"],
            registry=self.registry,
        )
        self._overlays = Gauge(
            "gpu_reconciler_overlays", "NodeOverlays that should stand (docs/karpenter.md).", registry=self.registry
        )
        self._overlay_changes = Gauge(
            "gpu_reconciler_overlay_changes",
            "What differs from that: written now, or only told where overlays are not ours to write.",
            registry=self.registry,
        )
        self._findings = Gauge(
            "gpu_reconciler_overlay_findings",
            "What keeps Karpenter from going by our overlays, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self._troubles = Counter(
            "gpu_reconciler_troubles",
            "Odd objects, broken watches and the like, by the kind of object.",
            ["kind"],
            registry=self.registry,
        )
        self._leader = Gauge("gpu_reconciler_leader", "1 while this replica leads.", registry=self.registry)
        self._synced = Gauge(
            "gpu_reconciler_synced", "1 once every watched kind has been read.", registry=self.registry
        )
        self._shown: dict[NodeName, tuple[tuple[str, ...], ...]] = {}

    def passed(self, loop: str, result: str, seconds: float) -> None:
        self._passes.labels(loop, result).inc()
        self._seconds.labels(loop).observe(seconds)

    def trouble(self, kind: str) -> None:
        self._troubles.labels(kind).inc()

    def leading(self, leads: bool) -> None:
        """Only the leader looks at nodes; what a former one said would stand for ever."""
        self._leader.set(leads)
        if not leads:
            for name in list(self._shown):
                self.gone(name)
            self._overlays.set(0)
            self._overlay_changes.set(0)
            self._findings.clear()

    def synced(self, complete: bool) -> None:
        self._synced.set(complete)

    def planned(self, node: NodeView, plan: Plan, sharing: SharingReason | None = None) -> None:
        """Show the node as this plan leaves it."""
        for action in plan.actions:
            self._actions.labels(type(action).__name__).inc()
        record = node.record if isinstance(node.record, CapacityRecord) else None
        kind = node.instance_type or ""
        advertised = (node.name, kind, record.source.value if record else "none")
        verdict = (node.name, kind, plan.reason.value)
        shares = () if sharing is None else (node.name, kind, sharing.value)
        if self._shown.get(node.name) != (advertised, verdict, shares):
            self.gone(node.name)
            self._shown[node.name] = (advertised, verdict, shares)
            self._verdict.labels(*verdict).set(1)
            if shares:
                self._sharing.labels(*shares).set(1)
        mib = (record.advertised_mib or 0) if record else 0
        self._advertised.labels(*advertised).set(mib * quantity.MIB)

    def overlays(self, plan: OverlayPlan) -> None:
        """Show how it stands with overlays."""
        self._overlays.set(len(plan.wanted))
        self._overlay_changes.set(len(plan.actions))
        self._findings.clear()
        for reason, count in Counted(finding.reason.value for finding in plan.findings).items():
            self._findings.labels(reason).set(count)

    def gone(self, name: NodeName) -> None:
        """Forget the series of a node that is no more."""
        shown = self._shown.pop(name, None)
        if shown is not None:
            advertised, verdict, shares = shown
            self._advertised.remove(*advertised)
            self._verdict.remove(*verdict)
            if shares:
                self._sharing.remove(*shares)

    def watching(self, read: Callable[[], Iterable[Watched]]) -> None:
        """Show these watches too, as they are whenever somebody asks. To be called once."""
        self.registry.register(WatchMetrics(read))

    def text(self) -> bytes:
        """The exposition format, for /metrics."""
        page: Any = generate_latest(self.registry)
        return bytes(page)
