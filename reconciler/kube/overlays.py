"""What do NodeOverlays say, ours and everybody's, and what does Karpenter say of them?"""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, field

from reconciler.kube.cache import Mirror
from reconciler.kube.node_pools import requirements
from reconciler.kube.parse import EPOCH, Odd, amounts_of, moment
from reconciler.kube.reader import Reader, by_name
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Report
from reconciler.kube.wire import Meta, Number, Requirement
from reconciler.model import names
from reconciler.model.overlay import OverlayView, Subject

API_VERSION = "karpenter.sh/v1alpha1"
PATH = f"/apis/{API_VERSION}/nodeoverlays"
VALIDATED = "ValidationSucceeded"
_CONFLICT = "Conflict"
"""The reason of a False condition when another overlay is in the way (pkg/controllers/nodeoverlay/controller.go)."""


class Written(Struct, gc=False):
    """One entry of metadata.managedFields: when somebody wrote, and whether only the status."""

    time: str | None = None
    subresource: str | None = None


class OverlayMeta(Meta, rename="camel"):
    generation: int | None = None
    labels: dict[str, str | None] | None = None
    managed_fields: list[Written] | None = None


class OverlaySpec(Struct, gc=False):
    requirements: list[Requirement] | None = None
    capacity: dict[str, Number | None] | None = None
    weight: int | None = None


class OverlayCondition(Struct, rename="camel", gc=False):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    observed_generation: int | None = None


class OverlayStatus(Struct, gc=False):
    conditions: list[OverlayCondition] | None = None


class OverlayWire(Struct, gc=False):
    metadata: OverlayMeta
    spec: OverlaySpec = field(default_factory=OverlaySpec)
    status: OverlayStatus | None = None


def source(report: Report) -> Source[OverlayView]:
    """Optional: the kind came with Karpenter 1.7, and may be left out."""
    return Source(PATH, Reader("NodeOverlay", OverlayWire, parse, by_name, report), optional=True)


def parse(wire: OverlayWire, odd: Odd) -> OverlayView:
    meta, spec = wire.metadata, wire.spec
    said = _said(wire)
    status = said.status if said is not None else None
    return OverlayView(
        name=meta.name,
        uid=meta.uid or "",
        requirements=requirements(spec.requirements or (), odd, "spec.requirements"),
        capacity=amounts_of(spec.capacity, odd, "spec.capacity"),
        weight=spec.weight or 0,
        subject=_subject(meta, odd),
        changed=_changed(meta, odd),
        validated={"True": True, "False": False}.get(status or ""),
        why_not=f"{said.reason}: {said.message}" if said is not None and status == "False" else "",
        conflict=said is not None and status == "False" and said.reason == _CONFLICT,
        resource_version=meta.resource_version or "",
    )


class OverlayCache(Mirror[OverlayView]):
    """NodeOverlays by name. `changed` is called for each that looks different, is new, or is gone."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.on_change(lambda before, after: changed())

    def _refreshed(self, before: OverlayView, view: OverlayView) -> OverlayView:
        return view  # its resourceVersion is newer, and a patch is written with it


def _subject(meta: OverlayMeta, odd: Odd) -> Subject | None:
    text = (meta.labels or {}).get(names.LABEL_OVERLAY)
    if text is None:
        return None
    try:
        return Subject(text)
    except ValueError:
        odd(f"label {names.LABEL_OVERLAY} is {text!r}, which this version does not know; the overlay counts as foreign")
        return None


def _said(wire: OverlayWire) -> OverlayCondition | None:
    """Karpenter's word on what the overlay says now; a word on an earlier generation is none."""
    conditions = (wire.status.conditions if wire.status is not None else None) or ()
    said = next((one for one in conditions if one.type == VALIDATED), None)
    if said is not None and said.observed_generation is not None and wire.metadata.generation is not None:
        return said if said.observed_generation >= wire.metadata.generation else None
    return said


def _changed(meta: OverlayMeta, odd: Odd) -> datetime | None:
    """When spec or labels were last written; the creation where nobody says more."""
    times = [one.time for one in meta.managed_fields or () if one.time and not one.subresource]
    at = moment(max(times, default=meta.creation_timestamp), odd, "metadata.managedFields")
    return at if at > EPOCH else None
