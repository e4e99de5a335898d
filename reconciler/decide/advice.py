"""What can the owner of a node do about a probe that gave no figures?"""

from reconciler.model.probe_report import ProbeReason

_ADVICE = {
    ProbeReason.LIBRARY_NOT_FOUND: (
        "the driver's library is not visible to the probe; use an AMI with the NVIDIA driver, or set the probe's"
        " runtimeClassName if the AMI needs one"
    ),
    ProbeReason.DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded; use an AMI with a driver for this GPU",
    ProbeReason.VERSION_MISMATCH: (
        "the driver was changed under the running node and no longer fits its library; reboot or replace the node"
    ),
    ProbeReason.GPU_LOST: "the GPU does not answer any more; reboot or replace the node",
    ProbeReason.NO_GPU: "the driver runs and sees no GPU; reboot or replace the node",
    ProbeReason.NO_PERMISSION: "the probe may not read the GPU; see the probe's security settings",
    ProbeReason.NOT_SUPPORTED: "NVML has no memory figure for this GPU; give one in capacity.overrides",
    ProbeReason.UNIFIED_MEMORY: (
        "the GPU shares the system's memory and NVML has no figure of its own; give one in capacity.overrides"
    ),
    ProbeReason.TIMEOUT: "NVML did not answer in time; if this stays, look for Xid lines in the node's log",
    ProbeReason.UNEXPECTED: "see the log of the probe's pod",
    ProbeReason.BAD_REPORT: "use a probe image of the controller's version",
    ProbeReason.NOT_STARTED: "the probe's container never ran; see the events of its pod",
}


def of(reason: ProbeReason) -> str:
    """What it means and what to do, as half a sentence."""
    return _ADVICE[reason]
