"""What does a NodeOverlay tell Karpenter, in short?"""

from reconciler.model import names
from reconciler.model.overlay import OverlayView, Subject
from reconciler.model.quantity import MIB
from scripts.demo.fleet import Member


def told(one: OverlayView) -> str:
    """`veriff.com/gpu-memory 14880Mi`."""
    memory = one.subject is Subject.MEMORY
    return ", ".join(f"{name} {f'{amount // MIB}Mi' if memory else amount}" for name, amount in one.capacity.items())


def where(one: OverlayView) -> str:
    """`g4dn.xlarge, g5.xlarge in gpu-dev`."""
    pools = _values(one, names.KARPENTER_NODEPOOL)
    return ", ".join(_values(one, names.LABEL_INSTANCE_TYPE)) + (f" in {', '.join(pools)}" if pools else "")


def in_short(one: OverlayView) -> str:
    """Value and type."""
    return f"{told(one)} on {where(one)}"


def counts_for(one: OverlayView, member: Member, subject: Subject) -> bool:
    """Whether Karpenter would go by it for a node such as this."""
    pools = _values(one, names.KARPENTER_NODEPOOL) or (member.pool,)
    return one.subject is subject and member.kind in _values(one, names.LABEL_INSTANCE_TYPE) and member.pool in pools


def _values(one: OverlayView, key: str) -> tuple[str, ...]:
    return next((need.values for need in one.requirements if need.key == key), ())
