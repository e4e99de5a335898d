"""Real GPUs with their figures: EC2's nominal MiB, NVML's total and what a driver of today reserves."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.model.gpu import BuiltinFigure, GpuSpec, LearnedFigure, Vendor
from reconciler.model.node import InstanceType
from reconciler.model.probe_report import GpuReading, ProbeReport
from reconciler.model.probe_state import Probed
from reconciler.model.quantity import MIB
from tests.decide.fake_node import NOW

DRIVER = "580.159.03"
PROBED_AT = NOW - timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Gpu:
    kind: str
    model: str
    nvml_name: str
    count: int
    ec2_mib: int
    nvml_mib: int
    reserved_mib: int
    partition: float = 1.0

    @property
    def row(self) -> BuiltinFigure:
        return BuiltinFigure(
            InstanceType(self.kind), self.model, Vendor.NVIDIA, self.count, self.ec2_mib, self.nvml_mib, "nvidia-smi"
        )

    def spec(self, ec2_mib: int | None = None, *, table: bool = True, count: int | None = None) -> GpuSpec:
        """EC2's answer, with the built-in row beside it."""
        return GpuSpec(
            InstanceType(self.kind),
            self.model,
            Vendor.NVIDIA,
            self.count if count is None else count,
            self.ec2_mib if ec2_mib is None else ec2_mib,
            self.row if table else None,
            self.partition,
        )

    def builtin(self) -> GpuSpec:
        """The built-in answer, where EC2 was not asked."""
        return GpuSpec(
            InstanceType(self.kind),
            self.model,
            Vendor.NVIDIA,
            self.count,
            None,
            self.row,
            self.partition,
            not_asked_because="EC2 could not be asked",
        )

    def learned(self, at: datetime = PROBED_AT) -> LearnedFigure:
        """What a probed sibling has taught."""
        return LearnedFigure(
            InstanceType(self.kind), self.nvml_name, self.count, self.nvml_mib, self.reserved_mib, DRIVER, at
        )

    def reading(self, index: int = 0) -> GpuReading:
        return GpuReading(index, self.nvml_name, f"GPU-{index}", self.nvml_mib * MIB, self.reserved_mib * MIB, ecc=True)

    def probed(self, count: int | None = None, at: datetime = PROBED_AT) -> Probed:
        """The report of a healthy node."""
        gpus = tuple(self.reading(index) for index in range(self.count if count is None else count))
        return Probed(ProbeReport(DRIVER, "13.580", gpus), at)


T4 = Gpu("g4dn.xlarge", "T4", "Tesla T4", 1, 16384, 15360, 450)
T4_FOUR = Gpu("g4dn.12xlarge", "T4", "Tesla T4", 4, 16384, 15360, 450)
A10G = Gpu("g5.xlarge", "A10G", "NVIDIA A10G", 1, 22888, 23028, 294)
L4 = Gpu("g6.xlarge", "L4", "NVIDIA L4", 1, 22888, 23034, 420)
L4_FOUR = Gpu("g6.12xlarge", "L4", "NVIDIA L4", 4, 22888, 23034, 420)
L4_SLICE = Gpu("g6f.large", "L4", "NVIDIA L4-3Q", 1, 2861, 3072, 256, partition=0.125)
L40S = Gpu("g6e.xlarge", "L40S", "NVIDIA L40S", 1, 45776, 46068, 600)
A100 = Gpu("p4d.24xlarge", "A100", "NVIDIA A100-SXM4-40GB", 8, 40960, 40960, 580)
H100 = Gpu("p5.4xlarge", "H100", "NVIDIA H100 80GB HBM3", 1, 81920, 81559, 560)
ALL = (T4, T4_FOUR, A10G, L4, L4_FOUR, L4_SLICE, L40S, A100, H100)
