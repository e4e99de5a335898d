"""What is a NodePool of Karpenter's, as far as it says which nodes may come?"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model import names


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label, as Karpenter spells it."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte."""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodePoolView:
    name: str
    requirements: tuple[Requirement, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the template: every node of the pool carries them from its registration on."""
    node_class_group: str = ""
    deleting: bool = False
    """Karpenter launches nothing for it any more."""

    @property
    def auto_mode(self) -> bool:
        """EKS runs this Karpenter itself, and that one knows no NodeOverlays."""
        return self.node_class_group == names.EKS_GROUP
