"""How is one entry of the catalog ConfigMap written? JSON for people to read, and to mend by hand if they must."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reconciler.model import fields
from reconciler.model.fields import LARGEST_MIB, MOST_GPUS, FieldError, Fields
from reconciler.model.gpu import GpuSpec, LearnedFigure, NoGpu, Vendor
from reconciler.model.node import InstanceType

LEARNED = "nvml."
ASKED = "ec2."
BROKEN = "broken."


@dataclass(frozen=True, slots=True)
class Asked:
    """EC2's answer and when it was given."""

    answer: GpuSpec | NoGpu
    at: datetime


def write_learned(figure: LearnedFigure) -> str:
    return _dump(
        {
            "model": figure.model,
            "count": figure.count,
            "totalMiB": figure.total_mib,
            "reservedMiB": figure.reserved_mib,
            "driver": figure.driver,
            "at": figure.at.isoformat(),
        }
    )


def read_learned(instance_type: InstanceType, text: str) -> LearnedFigure:
    """Raises FieldError."""
    entry = Fields.of(fields.load(text))
    total, reserved = entry.whole("totalMiB", LARGEST_MIB), entry.whole("reservedMiB", LARGEST_MIB)
    if reserved >= total:
        raise FieldError(f"reservedMiB ({reserved}) leaves nothing of totalMiB ({total})")
    return LearnedFigure(
        instance_type=instance_type,
        model=entry.text("model"),
        count=entry.whole("count", MOST_GPUS),
        total_mib=total,
        reserved_mib=reserved,
        driver=entry.text("driver"),
        at=entry.moment("at"),
    )


def write_asked(asked: Asked) -> str:
    """What EC2 itself said: the built-in row beside it is this version's, and a later one may know better."""
    answer = asked.answer
    if isinstance(answer, NoGpu):
        return _dump({"gpu": False, "accelerator": answer.accelerator, "at": asked.at.isoformat()})
    return _dump(
        {
            "gpu": True,
            "model": answer.model,
            "vendor": answer.vendor.value,
            "count": answer.count,
            "MiB": answer.ec2_mib,
            "partition": answer.partition,
            "at": asked.at.isoformat(),
        }
    )


def read_asked(instance_type: InstanceType, text: str) -> Asked:
    """Without a built-in row. Raises FieldError."""
    entry = Fields.of(fields.load(text))
    at = entry.moment("at")
    if not entry.flag("gpu"):
        return Asked(NoGpu(instance_type, entry.text("accelerator")), at)
    spec = GpuSpec(
        instance_type=instance_type,
        model=entry.text("model"),
        vendor=entry.choice("vendor", Vendor),
        count=entry.whole("count", MOST_GPUS),
        # EC2 has given the sum of all GPUs here (g6.12xlarge until 2025-04).
        ec2_mib=entry.whole("MiB", MOST_GPUS * LARGEST_MIB),
        partition=entry.share("partition"),
    )
    return Asked(spec, at)


def _dump(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
