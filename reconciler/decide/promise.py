"""What is a node said to have, before anybody looks at its GPUs?"""

from dataclasses import dataclass, replace
from typing import assert_never

from reconciler.decide import label
from reconciler.decide.facts import CapacityFacts
from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, SpecAnswer, SpecUnknown, Vendor
from reconciler.model.node import InstanceType
from reconciler.model.record import CapacityRecord

NAMELESS = "GPU"
_NO_NAMES = frozenset({"", "nvidia"})
"""EC2 called the GPUs of p5en.48xlarge and p6-b200.48xlarge `NVIDIA` for months."""


@dataclass(frozen=True, slots=True)
class Promise:
    """All memory is MiB per GPU."""

    instance_type: InstanceType | None
    model: str = ""
    """Empty: nobody has named it."""
    count: int | None = None
    """None: nobody says how many."""
    ec2_mib: int | None = None
    builtin: BuiltinFigure | None = None
    learned: LearnedFigure | None = None
    ec2_silence: str = ""
    """Why there is no figure from EC2, in words for the node's owner."""

    @property
    def name(self) -> str:
        """How sentences call one GPU."""
        return self.model or NAMELESS


def known_answer(facts: CapacityFacts, record: CapacityRecord | None) -> SpecAnswer | None:
    """EC2's answer, else the built-in one, else what the node's own record or its siblings know of it."""
    answer = facts.spec
    if answer is None or isinstance(answer, SpecUnknown):
        answer = facts.builtin if isinstance(facts.builtin, GpuSpec | NoGpu) else answer
    here = record if record is not None and record.count > 0 else None
    match answer:
        case GpuSpec(ec2_mib=None, count=count) if facts.spec is None and here is not None and here.count == count:
            # A restarted controller has not asked EC2 again yet: what EC2 said when it was asked is on the node.
            return replace(answer, ec2_mib=here.ec2_mib)
        case NoGpu() | GpuSpec():
            return answer
        case None | SpecUnknown():
            silence = answer.why if answer is not None else ""
            kind = facts.node.instance_type or InstanceType("")
            if here is not None:
                return GpuSpec(kind, here.gpu, Vendor.NVIDIA, here.count, here.ec2_mib, not_asked_because=silence)
            if facts.learned is not None and kind and _sound(facts.learned):
                model, count = label.plain_name(facts.learned.model), facts.learned.count
                return GpuSpec(kind, model, Vendor.NVIDIA, count, None, not_asked_because=silence)
            return answer
        case _:
            assert_never(answer)


def of(spec: GpuSpec, instance_type: InstanceType | None, learned: LearnedFigure | None) -> Promise:
    """What EC2, the built-in table and earlier nodes of the type promise together."""
    row = spec.builtin
    same_type = row is not None and row.instance_type == spec.instance_type
    if row is not None and spec.fractional and not same_type:
        row = None  # a row of another type is of a whole GPU, or of a slice of another size
    if learned is not None and (instance_type is None or not _sound(learned)):
        learned = None
    count = spec.count
    if count < 1 and same_type and row is not None:
        count = row.count
    if count < 1 and learned is not None:
        count = learned.count
    if learned is not None and learned.count != count:
        learned = None
    model = spec.model if spec.model.lower() not in _NO_NAMES else (row.model if row is not None else "")
    return Promise(
        instance_type=instance_type,
        model=model,
        count=count if count > 0 else None,
        ec2_mib=spec.ec2_mib if spec.ec2_mib is not None and spec.ec2_mib > 0 else None,
        builtin=row,
        learned=learned,
        ec2_silence=spec.not_asked_because,
    )


def _sound(learned: LearnedFigure) -> bool:
    return learned.count > 0 and 0 <= learned.reserved_mib < learned.total_mib
