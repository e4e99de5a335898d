"""Which instance types can this NodePool launch? As far as its requirements are about types at all."""

from dataclasses import dataclass

from reconciler.decide.requirement import Fit, Labels, fit, normal
from reconciler.model import names
from reconciler.model.node_pool import NodePoolView, Requirement


@dataclass(frozen=True, slots=True)
class Launch:
    """`may`: nothing says that the pool cannot launch the type. `unread`: requirements that could not be judged."""

    may: bool
    unread: tuple[Requirement, ...] = ()


def launch(pool: NodePoolView, labels: Labels) -> Launch:
    """Judge one type by its labels. What cannot be judged counts as met: an overlay for a type that never comes does
    no harm, while a type without one is not launched from zero."""
    unread: list[Requirement] = []
    for one in demands(pool):
        values = labels.get(normal(one.key))
        if values is None and not of_type(one.key):
            continue  # a zone, a price model or the pool's own label: nothing about types
        answer = fit(one, values)
        if answer is Fit.NO:
            return Launch(False)
        if values is None:
            unread.append(one)
    return Launch(True, tuple(unread))


def demands(pool: NodePoolView) -> tuple[Requirement, ...]:
    """The pool's requirements; the labels of its template count among them."""
    return (*pool.requirements, *(Requirement(key, "In", (value,)) for key, value in sorted(pool.labels.items())))


def of_type(key: str) -> bool:
    """Whether a label is about the instance type, and not about where and how it is bought."""
    plain = (names.LABEL_INSTANCE_TYPE, names.LABEL_ARCH, names.LABEL_OS)
    return normal(key) in plain or key.startswith(f"{names.KARPENTER_AWS}instance-")
