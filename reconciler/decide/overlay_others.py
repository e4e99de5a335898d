"""Whose overlays meet ours on a type? As Karpenter's own controller finds out (pkg/controllers/nodeoverlay).

An overlay that conflicts on one type in one NodePool is applied to none of its types; of two, the one whose name comes
later in the alphabet wins. So meeting somebody else's at the same weight would break theirs or ours as a whole.
"""

from collections.abc import Iterable, Sequence

from reconciler.decide.requirement import Fit, Labels, fit, normal
from reconciler.model import names
from reconciler.model.node import CapacityType
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.overlay import OverlayView

_WHERE = frozenset({names.LABEL_ZONE, names.LABEL_REGION, "topology.k8s.aws/zone-id"})
"""Labels of an offering: one offering that fits is enough for the type's capacity, and nearly every type has one."""
_BOUGHT = frozenset({CapacityType.ON_DEMAND.value, CapacityType.SPOT.value, CapacityType.RESERVED.value})
_OF_PROVIDERS = (names.KARPENTER_AWS, "node.kubernetes.io/")


def others(overlays: Iterable[OverlayView], resource: str) -> list[OverlayView]:
    """Overlays that are not ours and set the resource, by name."""
    found = [one for one in overlays if one.subject is None and resource in one.capacity]
    return sorted(found, key=lambda one: one.name)


def meets(overlay: OverlayView, pool: NodePoolView, labels: Labels) -> Fit:
    """Whether the overlay applies to the type in the NodePool. Requirements of the NodePool have no say in it."""
    return min((_one(need, pool, labels) for need in overlay.requirements), default=Fit.YES)


def of_weight(
    overlays: Sequence[OverlayView], weight: int, pools: Iterable[NodePoolView], labels: Labels
) -> OverlayView | None:
    """The first of them with just this weight that surely applies to the type in one of the NodePools."""
    same = [one for one in overlays if one.weight == weight]
    if not same:
        return None
    return next((one for pool in pools for one in same if meets(one, pool, labels) is Fit.YES), None)


def _one(need: Requirement, pool: NodePoolView, labels: Labels) -> Fit:
    key = normal(need.key)
    if key == names.KARPENTER_NODEPOOL:
        return fit(need, frozenset({pool.name}))
    if key in labels:
        return fit(need, labels[key])
    if key == names.KARPENTER_CAPACITY_TYPE:
        return Fit.NO if fit(need, _BOUGHT) is Fit.NO else Fit.YES
    if key in _WHERE:
        return Fit.YES
    if key in pool.labels:
        return fit(need, frozenset({pool.labels[key]}))
    # What neither the type nor the template says is absent for Karpenter; of the type we do not know all.
    return fit(need, None if key.startswith(_OF_PROVIDERS) else frozenset())
