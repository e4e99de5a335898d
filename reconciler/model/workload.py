"""What is a pod, as far as decisions look at it?"""

from dataclasses import dataclass

from reconciler.model.node import NodeName, Resources


@dataclass(frozen=True, slots=True)
class PodRef:
    """One pod and no namesake."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod that is bound to a node and has not ended; ended pods hold nothing and are not seen."""

    ref: PodRef
    node: NodeName
    requests: Resources
    """What the scheduler counts: the sum of app containers or the largest init container, plus overhead."""
    created: str = ""
    """RFC 3339, as the API server writes it: sorts by age."""
