"""What will nodes of these types offer? By the built-in table and the settings, without asking anybody."""

from collections.abc import Mapping, Sequence

from reconciler.app.process import SystemClock
from reconciler.app.shipped import shipped_profiles
from reconciler.app.wishes import wishes
from reconciler.aws.builtin import builtin
from reconciler.decide import slots, type_labels
from reconciler.decide.asg_tags import GroupTags, TypeOffer, tags
from reconciler.decide.expected import TypeFacts, expected
from reconciler.decide.slots import SlotFacts, Slots
from reconciler.model import names
from reconciler.model.gpu import Vendor
from reconciler.model.node import InstanceType
from reconciler.model.node_pool import NodePoolView, Requirement
from reconciler.model.sharing import PluginConfig
from reconciler.settings.root import Settings


def known() -> Sequence[InstanceType]:
    """Every type of the table with a GPU of NVIDIA's."""
    return [row.figure.instance_type for row in builtin() if row.figure.vendor is Vendor.NVIDIA]


def of_groups(
    groups: Mapping[str, Sequence[InstanceType]],
    settings: Settings,
    *,
    replicas: int | None,
    labels: Mapping[str, str],
    capacity_type: str,
    startup_taint: bool,
) -> Mapping[str, GroupTags]:
    """The tags of each node group. `replicas` stands in for the rules for sharing; `labels` are the node group's."""
    bought = (Requirement(names.KARPENTER_CAPACITY_TYPE, "In", (capacity_type,)),) if capacity_type else ()
    place = NodePoolView("", bought, labels)
    offers = {
        kind: _offer(kind, place, settings, replicas)
        for kind in sorted({kind for one in groups.values() for kind in one})
    }
    resource = settings.capacity.resource
    return {
        name: tags([offers[kind] for kind in kinds], resource, startup_taint=startup_taint)
        for name, kinds in groups.items()
    }


def _offer(kind: InstanceType, place: NodePoolView, settings: Settings, replicas: int | None) -> TypeOffer:
    policy, now = wishes(settings).policy, SystemClock().now()
    facts = TypeFacts(builtin=builtin().answer(kind))
    what = expected(kind, facts, place.labels, policy.capacity, now)
    if replicas is not None:
        return TypeOffer(kind, what, Slots({settings.capacity.gpu_resource: what.gpus * replicas}))
    asked = SlotFacts(place, kind, what, type_labels.of(kind, facts.specs), PluginConfig(shipped_profiles()))
    return TypeOffer(kind, what, slots.slots(asked, policy.slicing, now))
