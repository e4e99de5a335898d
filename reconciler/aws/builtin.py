"""What is known of instance types without asking EC2?

builtin.csv holds a row for each GPU type with the source of its figures (copies of EC2's own answers, drivers' figures
from public output). It serves when EC2 cannot be asked, and as a second opinion when it can: EC2 has been wrong for
months at a time, in ways that agree with themselves.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from reconciler.model.gpu import BuiltinFigure, GpuSpec, NoGpu, SpecAnswer, SpecUnknown, Vendor
from reconciler.model.node import InstanceType

_EC2_TYPE = re.compile(r"(?P<family>[a-z][a-z0-9-]*)\.[a-z0-9-]+")

# Other accelerators, by the start of the family's name: no NVML on any of them. inf and trn are Neuron's own letters.
_ACCELERATORS: Mapping[str, str] = {
    "inf": "AWS Inferentia",
    "trn": "AWS Trainium",
    "dl2q": "Qualcomm AI100",
    "vt1": "Xilinx U30",
    "f1": "Xilinx FPGA",
    "f2": "Xilinx FPGA",
}

_MAY_HAVE_GPUS = re.compile(r"g|p|dl|inf|trn|vt|f\d")
"""How families with accelerators begin (g5, gr6, p4d, dl1). None of the 1,300 other types begins so."""


class TableError(ValueError):
    """A row of the built-in table cannot be read; the text names row and column."""


@dataclass(frozen=True, slots=True)
class Row:
    figure: BuiltinFigure
    partition: float
    """Share of a physical GPU."""


class Builtin:
    """The built-in table and what the names of families tell."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {row.figure.instance_type: row for row in rows}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def row(self, instance_type: InstanceType) -> Row | None:
        return self._rows.get(instance_type)

    def figure(self, instance_type: InstanceType, model: str, vendor: Vendor, mib: int) -> BuiltinFigure | None:
        """The type's row, else one of the same GPU (`mib`: what EC2 says of it).

        One name can stand for two sizes (A100, V100), so rows with EC2's size go first. Where rows of the same GPU
        differ all the same (T4g: the metal size runs without ECC), none speaks for the type.
        """
        own = self._rows.get(instance_type)
        if own is not None:
            return own.figure
        same = [
            row.figure
            for row in self._rows.values()
            if row.partition == 1 and row.figure.vendor is vendor and row.figure.model.lower() == model.lower()
        ]
        candidates = [figure for figure in same if figure.ec2_mib == mib] or same
        figures = {(figure.ec2_mib, figure.nvml_mib) for figure in candidates}
        return candidates[0] if len(figures) == 1 else None

    def beside(self, spec: GpuSpec) -> BuiltinFigure | None:
        """The row to lay beside EC2's answer; none of another type beside a slice, since it is of a whole GPU."""
        if spec.ec2_mib is None or (spec.fractional and spec.instance_type not in self._rows):
            return None
        return self.figure(spec.instance_type, spec.model, spec.vendor, spec.ec2_mib)

    def answer(self, instance_type: InstanceType, not_asked_because: str = "") -> SpecAnswer | None:
        """What is known of the type; None when nothing is.

        A family whose name cannot be a GPU family's is taken for one without: wrongly calling a new GPU family by a
        new letter "no GPU" would be put right as soon as EC2 can be asked.
        """
        row = self._rows.get(instance_type)
        if row is not None:
            figure = row.figure
            return GpuSpec(
                instance_type=instance_type,
                model=figure.model,
                vendor=figure.vendor,
                count=figure.count,
                ec2_mib=None,
                builtin=figure,
                partition=row.partition,
                not_asked_because=not_asked_because,
            )
        family = family_of(instance_type)
        if family is None:
            return None
        name = accelerator(instance_type)
        return NoGpu(instance_type, name, not_asked_because) if name or not _MAY_HAVE_GPUS.match(family) else None

    def answer_or_unknown(self, instance_type: InstanceType, not_asked_because: str) -> SpecAnswer:
        """As `answer`; a type that nothing is known of is SpecUnknown with the reason why EC2 did not say more."""
        answer = self.answer(instance_type, not_asked_because)
        if answer is not None:
            return answer
        return SpecUnknown(
            instance_type,
            f"{instance_type} is not in the built-in table, and {not_asked_because}; otherwise set its memory by hand "
            "(settings: capacity.overrides)",
        )


def family_of(instance_type: InstanceType) -> str | None:
    """`g4dn` of `g4dn.xlarge`; None when the name is not one of EC2's."""
    match = _EC2_TYPE.fullmatch(instance_type)
    return match["family"] if match else None


def accelerator(instance_type: InstanceType) -> str:
    """What a family without GPUs has instead; empty when it has nothing, or nobody knows."""
    return next((name for start, name in _ACCELERATORS.items() if instance_type.startswith(start)), "")


@cache
def builtin() -> Builtin:
    """The table that the package ships."""
    text = resources.files("reconciler.aws").joinpath("builtin.csv").read_text(encoding="utf-8")
    return Builtin(parse(text))


def parse(text: str) -> list[Row]:
    """Raises TableError."""
    rows: list[Row] = []
    for number, entry in enumerate(csv.DictReader(text.splitlines()), start=2):
        try:
            rows.append(_row(entry))
        except (KeyError, TypeError, ValueError) as error:
            raise TableError(f"builtin.csv line {number}: {error}") from None
    return rows


def _row(entry: Mapping[str, str]) -> Row:
    figure = BuiltinFigure(
        instance_type=InstanceType(entry["instance_type"]),
        model=entry["model"],
        vendor=Vendor(entry["vendor"]),
        count=int(entry["count"]),
        ec2_mib=int(entry["ec2_mib"]) if entry["ec2_mib"] else None,
        nvml_mib=int(entry["nvml_mib"]) if entry["nvml_mib"] else None,
        source=entry["source"],
    )
    return Row(figure, float(entry["partition"]))
