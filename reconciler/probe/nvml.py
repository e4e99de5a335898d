"""What does NVML say about this machine's GPUs? The only file that knows pynvml."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pynvml

from reconciler.model.probe_report import GpuReading, MigSlice, ProbeReason
from reconciler.probe.failures import ARGUMENT_VERSION_MISMATCH, NOT_FOUND, NOT_SUPPORTED, NvmlFailure, from_code
from reconciler.probe.findings import Findings

LARGEST = 2**63 - 1
"""NVML writes 2**64 - 1 for "not available"."""


def read(findings: Findings) -> None:
    """Fill `findings`, GPU by GPU; a GPU that fails is told and the next one read. NvmlFailure: nothing can be read."""
    _call(findings, pynvml.nvmlInit)
    try:
        findings.driver = _optional(findings, pynvml.nvmlSystemGetDriverVersion) or ""
        findings.nvml = _optional(findings, pynvml.nvmlSystemGetNVMLVersion) or ""
        # The count includes GPUs that may not be opened (nvml.h), so each index is tried.
        findings.expected = _call(findings, pynvml.nvmlDeviceGetCount)
        for index in range(findings.expected or 0):
            findings.gpus.append(_Gpu(findings, index).read())
    finally:
        with suppress(NvmlFailure):
            _call(findings, pynvml.nvmlShutdown)
    if not findings.expected:
        raise NvmlFailure(ProbeReason.NO_GPU, "NVML works and counts no GPU: see the node's PCI devices (lspci)")


class _Gpu:
    """The reading of one GPU: keeps what could be read, and the first reason why something that matters could not."""

    def __init__(self, findings: Findings, index: int) -> None:
        self._findings = findings
        self._where = f"GPU {index}"
        self._reading = GpuReading(index)

    def read(self) -> GpuReading:
        try:
            handle = self._ask(pynvml.nvmlDeviceGetHandleByIndex, self._reading.index)
        except NvmlFailure as failure:
            self._spoil(failure)
            return self._reading
        ecc = self._optional(pynvml.nvmlDeviceGetEccMode, handle)
        self._reading = replace(
            self._reading,
            name=self._optional(pynvml.nvmlDeviceGetName, handle) or "",
            uuid=self._optional(pynvml.nvmlDeviceGetUUID, handle) or "",
            ecc=None if ecc is None else bool(ecc[0]),
        )
        for part in (self._read_mig, self._read_memory):
            try:
                part(handle)
            except NvmlFailure as failure:
                self._spoil(failure)
        return self._reading

    def _read_memory(self, handle: Any) -> None:
        try:
            total, reserved = self._memory(handle)
        except NvmlFailure as failure:
            # Under MIG the parent's figures are for privileged callers only (nvml.h); the devices' sizes are known.
            if self._reading.mig is not None:
                return
            if failure.code == NOT_SUPPORTED and self._reading.error is None:
                raise NvmlFailure(
                    ProbeReason.UNIFIED_MEMORY,
                    f"{self._where}: NVML gives no memory size ({failure}): where the GPU shares the machine's memory, "
                    "there is no GPU memory to advertise",
                ) from None
            raise
        if not 0 < total <= LARGEST or (reserved is not None and reserved > total):
            figures = f"{self._where}: NVML says total {total} and reserved {reserved} bytes, which cannot be"
            raise NvmlFailure(ProbeReason.UNEXPECTED, figures)
        self._reading = replace(self._reading, total=total, reserved=reserved)

    def _memory(self, handle: Any) -> tuple[int, int | None]:
        """Bytes: total and reserved. Version 2 tells the reserve apart (since R510); before that, only the total."""
        try:
            v2 = self._ask(pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2)
        except NvmlFailure as failure:
            if not failure.absent and failure.code != ARGUMENT_VERSION_MISMATCH:
                raise
            return int(self._ask(pynvml.nvmlDeviceGetMemoryInfo, handle).total), None
        return int(v2.total), int(v2.reserved)

    def _read_mig(self, handle: Any) -> None:
        try:
            current, _pending = self._ask(pynvml.nvmlDeviceGetMigMode, handle)
        except NvmlFailure as failure:
            if failure.absent:  # most GPUs cannot do MIG
                return
            raise
        if not current:
            return
        self._reading = replace(self._reading, mig=())
        sizes: Counter[int] = Counter()
        for place in range(self._ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)):
            try:
                sizes[self._mig_mib(self._ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place))] += 1
            except NvmlFailure as failure:
                if failure.code != NOT_FOUND:  # places need not be filled in order
                    self._spoil(failure)
        slices = tuple(MigSlice(mib, count) for mib, count in sorted(sizes.items(), reverse=True))
        self._reading = replace(self._reading, mig=slices)

    def _mig_mib(self, device: Any) -> int:
        try:
            return int(self._ask(pynvml.nvmlDeviceGetAttributes, device).memorySizeMB)
        except NvmlFailure as failure:
            if not failure.absent:
                raise
            return int(self._ask(pynvml.nvmlDeviceGetMemoryInfo, device).total) >> 20

    def _spoil(self, failure: NvmlFailure) -> None:
        """The first reason stands; every sentence is kept once."""
        if self._reading.error is None:
            self._reading = replace(self._reading, error=failure.reason)
            self._findings.notes.append(str(failure))

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return _call(self._findings, function, *arguments, where=self._where)

    def _optional(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return _optional(self._findings, function, *arguments, where=self._where)


def _optional(findings: Findings, function: Callable[..., Any], *arguments: Any, where: str = "") -> Any:
    """The answer, or None: what matters about a GPU is its memory, and reading that tells what is wrong with it."""
    with suppress(NvmlFailure):
        return _call(findings, function, *arguments, where=where)
    return None


def _call(findings: Findings, function: Callable[..., Any], *arguments: Any, where: str = "") -> Any:
    """One call into NVML; whatever goes wrong leaves as NvmlFailure."""
    name = f"{where}: {function.__name__}" if where else function.__name__
    findings.doing = name
    try:
        return function(*arguments)
    except pynvml.NVMLError as error:
        # Neither hashable nor comparable with anything else, so it goes no further. The operating system's reason
        # for a library that did not load is only in the context.
        raise from_code(name, error.value, str(error), error.__context__) from None
    except pynvml.NVMLLibraryMismatchError as error:  # not an NVMLError
        raise NvmlFailure(ProbeReason.VERSION_MISMATCH, f"{name}: {error}") from None
    except Exception as error:  # a name that is no UTF-8, a binding that lacks a call: one GPU's trouble stays its own
        raise NvmlFailure(ProbeReason.UNEXPECTED, f"{name}: {type(error).__name__}: {error}") from None
