"""How is one entry of the catalog ConfigMap written? JSON for people to read, and to mend by hand if they must."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, NoGpu, Vendor
from reconciler.model.node import InstanceType

LEARNED = "nvml."
ASKED = "ec2."
BROKEN = "broken."

T = TypeVar("T")


class EntryError(ValueError):
    """The entry is not one of ours, or was edited; the message names the field."""


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
    """Raises EntryError."""
    entry = _load(text)
    total, reserved = _number(entry, "totalMiB"), _number(entry, "reservedMiB")
    if total == 0 or reserved >= total:
        raise EntryError(f"reservedMiB ({reserved}) leaves nothing of totalMiB ({total})")
    return LearnedFigure(
        instance_type=instance_type,
        model=_typed(entry, "model", str),
        count=_number(entry, "count"),
        total_mib=total,
        reserved_mib=reserved,
        driver=_typed(entry, "driver", str),
        at=_time(entry),
    )


def write_asked(asked: Asked) -> str:
    answer = asked.answer
    if isinstance(answer, NoGpu):
        return _dump({"gpu": False, "accelerator": answer.accelerator, "at": asked.at.isoformat()})
    entry: dict[str, Any] = {
        "gpu": True,
        "model": answer.model,
        "vendor": answer.vendor.value,
        "count": answer.count,
        "MiB": answer.ec2_mib,
        "partition": answer.partition,
        "at": asked.at.isoformat(),
    }
    if answer.builtin is not None:
        row = answer.builtin
        entry["builtin"] = {
            "type": row.instance_type,
            "model": row.model,
            "vendor": row.vendor.value,
            "count": row.count,
            "ec2MiB": row.ec2_mib,
            "nvmlMiB": row.nvml_mib,
            "source": row.source,
        }
    return _dump(entry)


def read_asked(instance_type: InstanceType, text: str) -> Asked:
    """Raises EntryError."""
    entry = _load(text)
    at = _time(entry)
    if not _typed(entry, "gpu", bool):
        return Asked(NoGpu(instance_type, _typed(entry, "accelerator", str)), at)
    partition = entry.get("partition")
    if isinstance(partition, bool) or not isinstance(partition, int | float) or not 0 < partition <= 1:
        raise EntryError(f"partition is {partition!r}, not a share above 0 and up to 1")
    spec = GpuSpec(
        instance_type=instance_type,
        model=_typed(entry, "model", str),
        vendor=_vendor(entry),
        count=_number(entry, "count"),
        ec2_mib=_number(entry, "MiB"),
        builtin=_builtin(entry["builtin"]) if "builtin" in entry else None,
        partition=float(partition),
    )
    return Asked(spec, at)


def _builtin(row: Any) -> BuiltinFigure:
    if not isinstance(row, dict):
        raise EntryError("builtin is not an object")
    return BuiltinFigure(
        instance_type=InstanceType(_typed(row, "type", str)),
        model=_typed(row, "model", str),
        vendor=_vendor(row),
        count=_number(row, "count"),
        ec2_mib=None if row.get("ec2MiB") is None else _number(row, "ec2MiB"),
        nvml_mib=None if row.get("nvmlMiB") is None else _number(row, "nvmlMiB"),
        source=_typed(row, "source", str),
    )


def _dump(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def _load(text: str) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except ValueError as error:
        raise EntryError(f"not JSON ({error})") from None
    if not isinstance(entry, dict):
        raise EntryError("not a JSON object")
    return entry


def _typed(entry: dict[str, Any], key: str, kind: type[T]) -> T:
    value = entry.get(key)
    if not isinstance(value, kind):
        raise EntryError(f"{key} is {value!r}, not a {kind.__name__}")
    return value


def _number(entry: dict[str, Any], key: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise EntryError(f"{key} is {value!r}, not a whole number of at least 0")
    return value


def _vendor(entry: dict[str, Any]) -> Vendor:
    try:
        return Vendor(_typed(entry, "vendor", str))
    except ValueError:
        raise EntryError(f"vendor is {entry.get('vendor')!r}, not one of {', '.join(Vendor)}") from None


def _time(entry: dict[str, Any]) -> datetime:
    text = _typed(entry, "at", str)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise EntryError(f"at is {text!r}, which is no time") from None
    if at.tzinfo is None:
        raise EntryError(f"at is {text!r}, which has no time zone")
    return at
