"""What a node may have been told: verdicts without figures, and what its own record remembers."""

from reconciler.model.probe_report import GpuReading, ProbeReason
from reconciler.model.reasons import Reason
from reconciler.model.record import Source, UnreadableRecord
from tests.decide.fake_node import facts_of, node
from tests.decide.figures import A10G, T4
from tests.decide.situation import (
    BEFORE_BOOT,
    BROKEN_BEFORE_BOOT,
    JOIN,
    NO_PROBE,
    SAY,
    TEACH,
    UNKNOWN,
    VERIFIED,
    Row,
    failed,
    overridden,
    report,
)

ROWS = [
    # Final verdicts without figures
    *(
        Row(
            f"a GPU that cannot be used is withdrawn: {reason}",
            facts_of(node(), spec=T4.spec(), probe=failed(reason, "said NVML.")),
            Reason.NO_NVML,
            None,
            SAY,
            f"{reason} (said NVML): ",
        )
        for reason in (
            ProbeReason.LIBRARY_NOT_FOUND,
            ProbeReason.DRIVER_NOT_LOADED,
            ProbeReason.VERSION_MISMATCH,
            ProbeReason.NO_GPU,
            ProbeReason.GPU_LOST,
        )
    ),
    *(
        Row(
            f"a probe at fault leaves the figure, unverified: {reason}",
            facts_of(node(), spec=T4.spec(), probe=failed(reason)),
            Reason.UNVERIFIED,
            14592,
            SAY,
            f"14592 MiB advertised unverified: the probe gave no figure, {reason}: ",
        )
        for reason in (
            ProbeReason.NOT_STARTED,
            ProbeReason.TIMEOUT,
            ProbeReason.BAD_REPORT,
            ProbeReason.UNEXPECTED,
            ProbeReason.NO_PERMISSION,
            ProbeReason.NOT_SUPPORTED,
            ProbeReason.UNIFIED_MEMORY,
        )
    ),
    Row(
        "a report of an error is a verdict like a failed Job",
        facts_of(node(), spec=T4.spec(), probe=report(error=ProbeReason.DRIVER_NOT_LOADED)),
        Reason.NO_NVML,
        None,
        SAY,
    ),
    Row(
        "a report without GPUs found none",
        facts_of(node(), spec=T4.spec(), probe=report()),
        Reason.NO_NVML,
        None,
        SAY,
        "NoGPU",
    ),
    Row(
        "the only GPU that is lost leaves nothing",
        facts_of(node(), spec=T4.spec(), probe=report(GpuReading(0, error=ProbeReason.GPU_LOST))),
        Reason.NO_NVML,
        None,
        SAY,
    ),
    Row(
        "a GPU whose memory NVML does not know keeps the promised figure",
        facts_of(node(), spec=T4.spec(), probe=report(GpuReading(0, "NVIDIA GB10", error=ProbeReason.UNIFIED_MEMORY))),
        Reason.UNVERIFIED,
        14592,
        SAY,
    ),
    Row(
        "a person's figure stands where the probe gave none",
        facts_of(node(), spec=T4.spec(), probe=failed(ProbeReason.NOT_SUPPORTED)),
        Reason.OVERRIDDEN,
        15000,
        SAY,
        policy=overridden(15000),
    ),
    Row(
        "a type that nobody knows and a probe without figures leave nothing to say",
        facts_of(node("g9.xlarge"), spec=UNKNOWN, probe=failed(ProbeReason.TIMEOUT)),
        Reason.UNKNOWN_TYPE,
        None,
        SAY,
    ),
    # What the node remembers
    Row(
        "the record's probe of this boot is not asked again",
        facts_of(node(annotation=VERIFIED), spec=T4.spec(), learned=T4.learned()),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "after a boot the old figure stays until the new probe has answered",
        facts_of(node(annotation=BEFORE_BOOT), spec=T4.spec()),
        Reason.LEARNED,
        14910,
        JOIN,
        "as before the node's last boot",
        source=Source.LEARNED,
    ),
    Row(
        "after a boot as another type the old figure is not this GPU's",
        facts_of(node("g5.xlarge", annotation=BEFORE_BOOT), spec=A10G.spec()),
        Reason.PROVISIONAL,
        21743,
        JOIN,
    ),
    Row(
        "a GPU that was broken before the boot is trusted when the probe says so",
        facts_of(node(annotation=BROKEN_BEFORE_BOOT), spec=T4.spec()),
        Reason.NO_NVML,
        None,
        JOIN,
        "found before the node's last boot",
    ),
    Row(
        "without probes nothing would ever correct it, so it does not count",
        facts_of(node(annotation=BROKEN_BEFORE_BOOT), spec=T4.spec()),
        Reason.UNVERIFIED,
        14592,
        SAY,
        policy=NO_PROBE,
    ),
    Row(
        "the record bridges a restart without catalog",
        facts_of(node(annotation=VERIFIED)),
        Reason.VERIFIED,
        14910,
        TEACH,
        "NVML and EC2 agree",
    ),
    Row(
        "the record bridges a lost label",
        facts_of(node(None, annotation=VERIFIED)),
        Reason.VERIFIED,
        14910,
        SAY,
    ),
    Row(
        "EC2's figure is not forgotten while EC2 has not been asked again",
        facts_of(node(annotation=VERIFIED), builtin=T4.builtin(), learned=T4.learned()),
        Reason.VERIFIED,
        14910,
        SAY,
        "NVML and EC2 agree",
    ),
    Row(
        "an unreadable record is rebuilt, and that is told",
        facts_of(node(annotation=UnreadableRecord("v is 9")), spec=T4.spec()),
        Reason.PROVISIONAL,
        14592,
        ["Announce", "Announce", "Advertise", "RunProbe"],
        "could not be read (v is 9) and is rebuilt",
    ),
]
