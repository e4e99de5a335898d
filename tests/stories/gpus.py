"""What does the probe answer on which machine? Reports as the probe program writes them, by instance type."""

from collections.abc import Collection, Mapping

from reconciler.model import names
from reconciler.model.probe_report import EXIT_CODES, GpuReading, MigSlice, ProbeReason, ProbeReport
from reconciler.model.quantity import MIB
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.nvml_double import A10G, A100, L4, L4_3Q, T4, Card
from reconciler.sandbox.programs import Exit

DRIVER = "580.159.03"


def report(
    card: Card,
    count: int = 1,
    *,
    lost: Collection[int] = (),
    mig: tuple[MigSlice, ...] | None = None,
    driver: str = DRIVER,
) -> Exit:
    """What the probe leaves behind where `count` such cards are; `lost` ones have fallen off the bus."""
    found = ProbeReport(driver, driver, tuple(_reading(card, index, index in lost, mig) for index in range(count)))
    return Exit(found.exit_code, found.to_json())


def refusal(reason: ProbeReason, message: str = "") -> Exit:
    """The probe could read nothing at all."""
    return Exit(EXIT_CODES[reason], ProbeReport(error=reason, message=message).to_json())


def _reading(card: Card, index: int, lost: bool, mig: tuple[MigSlice, ...] | None) -> GpuReading:
    if lost:
        return GpuReading(index, error=ProbeReason.GPU_LOST)
    return GpuReading(
        index=index,
        name=card.name,
        uuid=f"GPU-{index}",
        total=card.total_mib * MIB,
        reserved=card.reserved_mib * MIB,
        ecc=card.ecc,
        mig=mig,
    )


BY_TYPE: Mapping[str, Exit] = {
    "g4dn.xlarge": report(T4),
    "g4dn.12xlarge": report(T4, 4),
    "g5.xlarge": report(A10G),
    "g6.xlarge": report(L4),
    "g6f.large": report(L4_3Q),
    "p4d.24xlarge": report(A100, 8),
}
"""All in good order."""

T4_MIB = T4.total_mib - T4.reserved_mib
"""What a g4dn.xlarge should advertise in the end."""

A10G_MIB = A10G.total_mib - A10G.reserved_mib


def machine(
    kind: str | None = "g4dn.xlarge",
    *,
    gpus: int = 1,
    labels: Mapping[str, str] | None = None,
    taints: tuple[str, ...] = (),
) -> Machine:
    """A machine of this instance type; None: it carries no such label."""
    ours = {} if kind is None else {names.LABEL_INSTANCE_TYPE: kind}
    devices = {names.GPU_RESOURCE: gpus} if gpus else {}
    # The kubelet's own lease matters to nobody here, and costs the most of an hour.
    return Machine(labels={**ours, **(labels or {})}, taints=taints, devices=devices, lease_every=300.0)
