"""What does a probed node teach about its instance type?"""

from reconciler.decide.finding import Measured
from reconciler.decide.promise import Promise
from reconciler.model.gpu import LearnedFigure
from reconciler.model.quantity import MIB


def lesson(promised: Promise, found: Measured) -> LearnedFigure | None:
    """The figures of a healthy node, for its next siblings. None where they would mislead, or are known already.

    Two AMIs of one type may disagree by a driver. The newest probe counts, and an older one does not bring its figures
    back, or the nodes would teach each other for ever.
    """
    if promised.instance_type is None or found.unread or found.gpus != (promised.count or found.gpus):
        return None
    sizes = [(gpu.total, gpu.reserved) for gpu in found.readings if gpu.total is not None and gpu.reserved is not None]
    if len(sizes) < found.gpus:
        return None
    total, reserved = min(sizes, key=lambda size: size[0] - size[1])
    figure = LearnedFigure(
        instance_type=promised.instance_type,
        model=found.readings[0].name,
        count=found.gpus,
        total_mib=total // MIB,
        # Rounded so that total less reserved is what this node would advertise.
        reserved_mib=total // MIB - (total - reserved) // MIB,
        driver=found.driver,
        at=found.at,
    )
    return figure if figure.reserved_mib < figure.total_mib else None


def is_news(figure: LearnedFigure, known: LearnedFigure | None) -> bool:
    """Whether the figure says something that is not known yet."""
    if known is None:
        return True
    same = (known.model, known.count, known.total_mib, known.reserved_mib, known.driver) == (
        figure.model,
        figure.count,
        figure.total_mib,
        figure.reserved_mib,
        figure.driver,
    )
    return not same and figure.at > known.at
