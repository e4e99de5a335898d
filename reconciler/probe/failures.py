"""What does an NVML error mean for the node's owner? From NVML's number to our reason and a sentence."""

from reconciler.model.probe_report import ProbeReason

# nvml.h, enum nvmlReturn_t. Numbers, not pynvml's names: those come and go with its versions.
NOT_SUPPORTED = 3
NOT_FOUND = 6
FUNCTION_NOT_FOUND = 13
ARGUMENT_VERSION_MISMATCH = 25

ABSENT = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND})
"""The GPU or the driver does not have the thing that was asked for; that is an answer."""

_REASONS: dict[int, tuple[ProbeReason, str]] = {
    NOT_SUPPORTED: (ProbeReason.NOT_SUPPORTED, "this GPU or driver does not support the call"),
    4: (
        ProbeReason.NO_PERMISSION,
        "the pod may not use the GPU: see its runtime class and capabilities (settings: probe)",
    ),
    9: (ProbeReason.DRIVER_NOT_LOADED, "the NVIDIA kernel module is not loaded (yet) on the node"),
    10: (ProbeReason.TIMEOUT, "NVML gave up waiting for the driver"),
    # Short, as the loader's words follow: readers quote no more than some 300 characters.
    12: (
        ProbeReason.LIBRARY_NOT_FOUND,
        "the pod was given no NVIDIA driver: see the node's AMI and settings: probe.runtime_class",
    ),
    FUNCTION_NOT_FOUND: (
        ProbeReason.VERSION_MISMATCH,
        "the driver is too old for this probe: use an AMI with a newer NVIDIA driver",
    ),
    15: (ProbeReason.GPU_LOST, "the GPU fell off the bus: replace the node"),
    16: (ProbeReason.GPU_LOST, "the GPU needs a reset: reboot or replace the node"),
    17: (ProbeReason.NO_PERMISSION, "the operating system (cgroups) blocks the GPU for this pod"),
    18: (
        ProbeReason.VERSION_MISMATCH,
        "the driver's library and kernel module differ (upgraded under a running node): reboot or replace the node",
    ),
    27: (ProbeReason.DRIVER_NOT_LOADED, "the driver is still starting"),
    28: (ProbeReason.NO_GPU, "the driver found no GPU"),
}


class NvmlFailure(Exception):
    """One NVML call failed. `code` is NVML's number, None when the failure was not NVML's own."""

    def __init__(self, reason: ProbeReason, sentence: str, code: int | None = None) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.code = code

    @property
    def absent(self) -> bool:
        return self.code in ABSENT


def from_code(call: str, code: int, words: str, cause: BaseException | None) -> NvmlFailure:
    """`words` are NVML's own, `cause` the operating system's error where there is one (a library that did not load)."""
    reason, advice = _REASONS.get(code, (ProbeReason.UNEXPECTED, ""))
    detail = f"{words}, code {code}"
    if isinstance(cause, OSError):
        detail += f", {cause}"
    return NvmlFailure(reason, f"{call}: {advice} ({detail})" if advice else f"{call}: {detail}", code)
