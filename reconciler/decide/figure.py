"""How many MiB may be advertised for each GPU? Margins, and which source counts before NVML has answered."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.decide.promise import Promise
from reconciler.model.policy import CapacityPolicy, Override
from reconciler.model.probe_report import GpuReading
from reconciler.model.quantity import MIB
from reconciler.model.record import Source

_NO_WORD = Override()


@dataclass(frozen=True, slots=True)
class Figure:
    """MiB to advertise for each GPU, and how they came about."""

    gpus: tuple[int, ...]
    source: Source
    largest_mib: int
    """The largest single GPU, before margins."""
    how: str
    """A clause with the numbers."""
    overridden: bool = False

    @property
    def total(self) -> int:
        return sum(self.gpus)


def provisional(promised: Promise, policy: CapacityPolicy, count: int) -> Figure | None:
    """The figure while NVML has not answered; None where nobody says anything. It starts low, to be raised later."""
    word = _word(promised, policy)
    if word.mib_per_gpu is not None:
        largest = promised.learned.total_mib if promised.learned is not None else word.mib_per_gpu
        how = f"capacity.overrides gives {word.mib_per_gpu} MiB"
        return Figure((word.mib_per_gpu,) * count, Source.NONE, largest, how, overridden=True)
    if promised.learned is not None:
        total, reserved = promised.learned.total_mib, promised.learned.reserved_mib
        left, kept = _less_margin(total - reserved, word, policy)
        how = f"probes of {promised.instance_type} nodes found {total} MiB, {reserved} reserved by the driver{kept}"
        return Figure((left,) * count, Source.LEARNED, total, how)
    claim = _claim(promised, policy)
    if claim is None:
        return None
    base, source, how = claim
    unproven = _larger(policy.provisional_margin_mib, policy.provisional_margin_percent, base)
    left, _ = _less_margin(base - unproven, word, policy)
    return Figure((left,) * count, source, base, f"{how}, and {base - left} are kept back")


def measured(readings: Sequence[GpuReading], promised: Promise, policy: CapacityPolicy) -> Figure:
    """NVML's figure: total less reserved less margin, for each GPU by itself, floored to MiB."""
    word = _word(promised, policy)
    usable = [usable_mib(gpu, policy) for gpu in readings]
    first = readings[0]
    largest = max(_total(gpu) for gpu in readings)
    if first.reserved is None:
        silence = f"{_total(first) - usable[0]} taken for the driver, which is too old to say"
        how = f"{_each(largest, len(readings))}, {silence}"
    else:
        how = f"{_each(largest, len(readings))}, {_total(first) - usable[0]} reserved by the driver"
    if word.mib_per_gpu is not None:
        wish = word.mib_per_gpu
        capped = any(wish > mib for mib in usable)
        limit = f"; capacity.overrides gives {wish}{', more than that leaves' if capped else ''}"
        gpus = tuple(min(wish, mib) for mib in usable)
        return Figure(gpus, Source.NVML if capped else Source.NONE, largest, how + limit, overridden=True)
    lefts = [_less_margin(mib, word, policy) for mib in usable]
    return Figure(tuple(left for left, _ in lefts), Source.NVML, largest, how + lefts[0][1])


def usable_mib(gpu: GpuReading, policy: CapacityPolicy) -> int:
    """What NVML leaves to programs, before margins. A driver before R510 does not say what it reserves itself."""
    if gpu.total is None:
        return 0
    if gpu.reserved is None:
        return _total(gpu) - math.ceil(_total(gpu) * policy.provisional_margin_percent / 100)
    return (gpu.total - gpu.reserved) // MIB


def apart_percent(readings: Sequence[GpuReading], said_mib: int) -> float:
    """How far NVML's totals lie from what was said, in percent of the latter; 0 where nothing was said."""
    if said_mib < 1:
        return 0.0
    return max((abs(_total(gpu) - said_mib) * 100 / said_mib for gpu in readings), default=0.0)


def _claim(promised: Promise, policy: CapacityPolicy) -> tuple[int, Source, str] | None:
    """The smallest credible memory of one GPU by what EC2 and the built-in table say.

    EC2's field once held the total of all GPUs (g6.12xlarge: 91553 for 22888, self-consistent with its own total),
    which only the table can tell; and its nominal figure may be larger than NVML's (T4: 16384 for 15360).
    """
    row, ec2 = promised.builtin, promised.ec2_mib
    known = row.nvml_mib if row is not None else None
    nominal = row.ec2_mib if row is not None else None
    if known is not None and known > 0:
        text = f"the {promised.name} is known to have {known} MiB"
        if ec2 is None:
            return known, Source.BUILTIN, text
        source = Source.EC2 if ec2 < known else Source.BUILTIN
        said = nominal or known
        if _disagree(ec2, said, policy):
            text = f"EC2 says {ec2} MiB for one {promised.name}, the built-in table {said}: the smaller counts"
        elif source is Source.EC2:
            text = f"EC2 says {ec2} MiB for one {promised.name}, the built-in table {known}"
        return min(ec2, known), source, text
    said_by = [(mib, source) for mib, source in ((ec2, Source.EC2), (nominal, Source.BUILTIN)) if mib]
    if not said_by:
        return None
    said, source = min(said_by)
    base = math.floor(said * (1 - policy.tolerance_percent / 100))
    voice = "EC2 says" if source is Source.EC2 else "the built-in table says"
    doubt = ""
    if ec2 and nominal and _disagree(ec2, nominal, policy):
        doubt = f" ({max(ec2, nominal)} by the other source: the smaller counts)"
    return base, source, f"{voice} {said} MiB for one {promised.name}{doubt}, of which NVML may confirm {base}"


def _disagree(one: int, other: int, policy: CapacityPolicy) -> bool:
    return abs(one - other) * 100 > policy.tolerance_percent * other


def _word(promised: Promise, policy: CapacityPolicy) -> Override:
    return policy.overrides.get(promised.instance_type, _NO_WORD) if promised.instance_type is not None else _NO_WORD


def _less_margin(mib: int, word: Override, policy: CapacityPolicy) -> tuple[int, str]:
    """What is left, at least 0, and a clause that names the margin if there is one."""
    if word.margin_mib is None and word.margin_percent is None:
        margin = _larger(policy.margin_mib, policy.margin_percent, mib)
    else:
        margin = _larger(word.margin_mib or 0, word.margin_percent or 0.0, mib)
    return max(0, mib - margin), f", {margin} kept back as margin" if margin else ""


def _larger(fixed: int, percent: float, mib: int) -> int:
    return max(0, fixed, math.ceil(mib * percent / 100))


def _total(gpu: GpuReading) -> int:
    return (gpu.total or 0) // MIB


def _each(mib: int, count: int) -> str:
    return f"{mib} MiB in all" if count == 1 else f"{mib} MiB each"
