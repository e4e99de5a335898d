"""What did the pod see, and is it what the node promises? Library, driver, number, model and memory of its GPU."""

from reconciler.decide import verify_promise
from reconciler.decide.verify_promise import Said
from reconciler.model.node import NodeView
from reconciler.model.probe_report import GpuReading, ProbeReason, ProbeReport
from reconciler.model.quantity import MIB
from reconciler.model.quoting import quoted
from reconciler.model.verification import Step, StepName, StepState, VerifyPolicy

OK, FAILED, SKIPPED = StepState.OK, StepState.FAILED, StepState.SKIPPED

_NO_LIBRARY = (
    "no NVIDIA library is in the container: the container runtime injected nothing. Where your own pods name a"
    " RuntimeClass, give it in verify.runtime_class; else nvidia-container-toolkit is not the node's runtime, or the"
    " device plugin's way of naming devices (envvar, CDI) is not the one that the runtime follows"
)
_NO_DEVICE = (
    "the library is there and no device: the pod was given no /dev/nvidia* files, or its cgroup forbids them, while the"
    " node's own probe of this boot reached the driver; see the device plugin's device list strategy and the toolkit"
)
_PERHAPS_NO_DEVICE = frozenset({ProbeReason.DRIVER_NOT_LOADED, ProbeReason.NO_PERMISSION, ProbeReason.UNEXPECTED})
"""What NVML's start says also in a container that has the library and not the devices (/dev/nvidiactl)."""

_DRIVER = {
    ProbeReason.DRIVER_NOT_LOADED: "the driver is not loaded on the node",
    ProbeReason.VERSION_MISMATCH: "the driver in the kernel and its library are not of one version: reboot the node",
    ProbeReason.TIMEOUT: "the driver does not answer: look for Xid lines in the node's log",
    ProbeReason.NO_PERMISSION: "the container may not use the GPU's device files",
    ProbeReason.UNEXPECTED: "the library could not be used",
}


def steps(report: ProbeReport, node: NodeView, policy: VerifyPolicy) -> tuple[Step, ...]:
    """The last five, up to the first that leaves the others nothing to look at."""
    if report.error is ProbeReason.LIBRARY_NOT_FOUND:
        return (_failed(StepName.LIBRARY, f"{_NO_LIBRARY}{_quoted(report.message)}"),)
    library = Step(StepName.LIBRARY, OK, f"NVML {report.nvml} is in the container" if report.nvml else "NVML is there")
    if report.error is not None and report.error is not ProbeReason.NO_GPU:
        return (library, _failed(StepName.DRIVER, _without_driver(report.error, report.message, node)))
    driver = Step(StepName.DRIVER, OK, f"driver {report.driver} answers" if report.driver else "the driver answers")
    gpus = _gpus(report, node)
    if len(report.readable) != 1 or gpus.state is not OK:
        return (library, driver, gpus)
    [gpu] = report.readable
    return (library, driver, gpus, _model(gpu, node), _memory(gpu, node, policy))


def _without_driver(reason: ProbeReason, message: str, node: NodeView) -> str:
    if reason in _PERHAPS_NO_DEVICE and verify_promise.readings(node):
        return f"{_NO_DEVICE} ({_told(reason, message)})"
    return f"{_DRIVER.get(reason, 'NVML cannot read the GPU')} ({_told(reason, message)})"


def _gpus(report: ProbeReport, node: NodeView) -> Step:
    """The pod asked for one: none, one of several, and more are three different things."""
    seen = [_mig_devices(gpu) for gpu in report.gpus]
    devices = sum(seen)
    if not report.gpus or not devices:
        return _failed(
            StepName.GPUS,
            "the pod asked for one GPU and sees none: the device plugin allocated one, and the container runtime did"
            f" not inject it{_quoted(report.message)}",
        )
    if devices > 1:
        what = "MIG devices" if any(gpu.mig is not None for gpu in report.gpus) else "GPUs"
        return _failed(
            StepName.GPUS,
            f"the pod asked for one GPU and sees {devices} {what}: pods are not kept apart. Something sets"
            " NVIDIA_VISIBLE_DEVICES=all for it (the image, a webhook, the runtime's default), or the device plugin's"
            " choice does not reach the container runtime",
        )
    broken = next((gpu for gpu in report.gpus if gpu.error is not None), None)
    if broken is not None:
        return _failed(StepName.GPUS, f"the GPU cannot be read: {broken.error}{_quoted(report.message)}")
    count = verify_promise.gpus(node)
    if count is not None and count.number == 1:
        alone = "the only one of the node, so whether pods are kept apart does not show"
    else:
        alone = f"of {count.number}" if count is not None else "and no other"
    return Step(StepName.GPUS, OK, f"the pod sees 1 GPU, {alone}")


def _mig_devices(gpu: GpuReading) -> int:
    """How many devices a pod can use of what it sees: a GPU in MIG mode is as many as its parts."""
    return 1 if gpu.mig is None else sum(piece.count for piece in gpu.mig)


def _model(gpu: GpuReading, node: NodeView) -> Step:
    promised, by = verify_promise.model(node)
    if not promised or not gpu.name:
        why = "NVML gives the GPU no name" if promised else f"nobody says which model it should be; it is {gpu.name}"
        return Step(StepName.MODEL, SKIPPED, why)
    if not verify_promise.same_model(promised, gpu.name):
        return _failed(StepName.MODEL, f"another GPU than promised: the pod sees {gpu.name}, {by} says {promised}")
    return Step(StepName.MODEL, OK, f"{gpu.name}, as {by} says ({promised})")


def _memory(gpu: GpuReading, node: NodeView, policy: VerifyPolicy) -> Step:
    if gpu.mig is not None or gpu.total is None:
        return Step(StepName.MEMORY, SKIPPED, "the parts of a GPU in MIG mode have sizes of their own")
    total = gpu.total // MIB
    usable = (gpu.total - (gpu.reserved or 0)) // MIB
    if (known := _another(gpu, node)) is not None:
        return _failed(StepName.MEMORY, f"another GPU than promised: {known}")
    promised = _promised_mib(gpu, node)
    if promised is not None and abs(total - promised.number) * 100 > policy.tolerance_percent * promised.number:
        why = f"another GPU than promised: the pod sees {total} MiB, {promised.by} says {promised.number}"
        return _failed(StepName.MEMORY, why)
    advertised = verify_promise.advertised_mib(node, policy.resource)
    if advertised is not None and advertised > usable:
        why = f"{advertised} MiB are advertised for the GPU, and it leaves programs {usable} of its {total}"
        return _failed(StepName.MEMORY, why)
    if promised is None and advertised is None:
        return Step(StepName.MEMORY, SKIPPED, f"nobody says how much memory it should be; it is {total} MiB")
    agrees = f", as {promised.by} says" if promised is not None else ""
    covers = f"; the {advertised} MiB that are advertised fit" if advertised is not None else ""
    return Step(StepName.MEMORY, OK, f"{total} MiB, {usable} for programs{agrees}{covers}")


def _another(gpu: GpuReading, node: NodeView) -> str | None:
    """Whether the probe of this boot read this very GPU. Long reports go without UUIDs."""
    known = [one.uuid for one in verify_promise.readings(node) if one.uuid]
    if not gpu.uuid or not known or gpu.uuid in known:
        return None
    return f"the pod sees {gpu.uuid}, the probe of this boot read {', '.join(known)}"


def _promised_mib(gpu: GpuReading, node: NodeView) -> Said | None:
    same = [one for one in verify_promise.readings(node) if one.uuid == gpu.uuid and one.total]
    if same:
        return Said((same[0].total or 0) // MIB, "the probe of this boot")
    return verify_promise.memory_mib(node)


def _failed(name: StepName, why: str) -> Step:
    return Step(name, FAILED, why)


def _told(reason: ProbeReason, message: str) -> str:
    return f"{reason.value}: {quoted(message)}" if message else reason.value


def _quoted(message: str) -> str:
    return f" ({quoted(message)})" if message else ""
