"""What did NVML find, and how is it written? The report that the probe writes and the controller reads.

The format is documented in docs/probe-report.md with a JSON schema. Only the standard library is used: the probe's
image path imports this file and pynvml, and nothing else.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reconciler.model import fields
from reconciler.model.fields import LARGEST_MIB, MOST_GPUS, FieldError, Fields

SCHEMA = "gpu-reconciler.io/probe-report/v1"
MAX_BYTES = 4096
"""The kubelet cuts a termination message at this size (pkg/kubelet/container, MaxContainerTerminationMessageLength)."""

MAX_LOG_BYTES = 2048
"""What FallbackToLogsOnError takes from the end of the log (ibid., MaxContainerTerminationMessageLogLength)."""

_LARGEST = LARGEST_MIB * 2**20
"""Bytes of one GPU."""

_MOST_SLICES = 1024
"""MIG devices of one GPU; today there are seven at most."""


class ProbeReason(StrEnum):
    """Why there is no full answer. The closed list; exit codes are in EXIT_CODES."""

    LIBRARY_NOT_FOUND = "LibraryNotFound"
    DRIVER_NOT_LOADED = "DriverNotLoaded"
    VERSION_MISMATCH = "DriverVersionMismatch"
    GPU_LOST = "GPULost"
    NO_PERMISSION = "NoPermission"
    NOT_SUPPORTED = "NotSupported"
    UNIFIED_MEMORY = "UnifiedMemory"
    NO_GPU = "NoGPU"
    TIMEOUT = "Timeout"
    UNEXPECTED = "Unexpected"
    BAD_REPORT = "BadReport"
    """Said by the controller: the message is missing, cut, not UTF-8, not JSON, or of a future version."""
    NOT_STARTED = "NotStarted"
    """Said by the controller: the container never ran (image, runtime or scheduling)."""


EXIT_CODES: dict[ProbeReason, int] = {
    ProbeReason.UNEXPECTED: 1,
    ProbeReason.LIBRARY_NOT_FOUND: 10,
    ProbeReason.DRIVER_NOT_LOADED: 11,
    ProbeReason.TIMEOUT: 12,
    ProbeReason.VERSION_MISMATCH: 20,
    ProbeReason.GPU_LOST: 21,
    ProbeReason.NO_PERMISSION: 22,
    ProbeReason.NOT_SUPPORTED: 23,
    ProbeReason.UNIFIED_MEMORY: 24,
    ProbeReason.NO_GPU: 25,
}
"""0 is a full answer. Below 20 a later try may succeed; from 20 on it will not, until the node boots again."""

FIRST_FINAL_EXIT_CODE = 20


class ReportError(ValueError):
    """The text is not a report of this version; the message names the field and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class MigSlice:
    """MIG devices of one size on one GPU."""

    mib: int
    count: int


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU. A reading with an error keeps what could be read; sizes are bytes as NVML gave them."""

    index: int
    name: str = ""
    uuid: str = ""
    total: int | None = None
    reserved: int | None = None
    """None: the driver is too old for memory v2 and does not say."""
    ecc: bool | None = None
    mig: tuple[MigSlice, ...] | None = None
    """None: MIG is off or unknown to this GPU; a tuple: MIG is on, with these devices."""
    error: ProbeReason | None = None


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """All that one run of the probe found."""

    driver: str = ""
    nvml: str = ""
    gpus: tuple[GpuReading, ...] = ()
    error: ProbeReason | None = None
    """Why nothing could be read at all."""
    message: str = ""

    @property
    def readable(self) -> tuple[GpuReading, ...]:
        """The GPUs whose memory is known."""
        return tuple(gpu for gpu in self.gpus if gpu.total is not None and gpu.error is None)

    @property
    def exit_code(self) -> int:
        """0: every GPU answered. Else the smallest code, so that a later try is made while one may help anywhere."""
        reasons = [self.error, *(gpu.error for gpu in self.gpus)]
        return min((EXIT_CODES.get(reason, 1) for reason in reasons if reason is not None), default=0)

    def to_json(self, limit: int = MAX_BYTES) -> str:
        """One line of at most `limit` bytes of UTF-8: UUIDs go first, then words, then names; never a GPU."""
        document = _document(self)
        text = _dump(document)
        if _excess(text, limit) > 0:
            _drop(document["gpus"], "uuid")
            text = _dump(document)
        if (excess := _excess(text, limit)) > 0 and document.get("message"):
            kept = document["message"].encode(errors="replace")[: -excess - len("…".encode())]
            document["message"] = kept.decode(errors="ignore") + "…"
            text = _dump(document)
        if _excess(text, limit) > 0:
            _drop(document["gpus"], "name")
            text = _dump(document)
        if _excess(text, limit) > 0:
            why = f"what was found on {len(self.gpus)} GPUs does not fit into {limit} bytes"
            text = _dump(_document(ProbeReport(error=ProbeReason.UNEXPECTED, message=why)))
        return text


def _excess(text: str, limit: int) -> int:
    return len(text.encode()) - limit


def _drop(entries: list[dict[str, Any]], key: str) -> None:
    for entry in entries:
        entry.pop(key, None)


def _dump(document: dict[str, Any]) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # An operating system's message may hold bytes that are no UTF-8; Python keeps those as lone surrogates.
    return text.encode(errors="replace").decode()


def _document(report: ProbeReport) -> dict[str, Any]:
    gpus = []
    for gpu in report.gpus:
        entry: dict[str, Any] = {"index": gpu.index, "name": gpu.name, "uuid": gpu.uuid}
        entry |= {"total": gpu.total, "reserved": gpu.reserved, "ecc": gpu.ecc}
        if gpu.mig is not None:
            entry["mig"] = [{"mib": piece.mib, "count": piece.count} for piece in gpu.mig]
        if gpu.error is not None:
            entry["error"] = gpu.error.value
        gpus.append({key: value for key, value in entry.items() if value not in (None, "")})
    document: dict[str, Any] = {"schema": SCHEMA, "driver": report.driver, "nvml": report.nvml, "gpus": gpus}
    if report.error is not None:
        document["error"] = report.error.value
    if report.message:
        document["message"] = report.message
    return document


def parse(text: str) -> ProbeReport:
    """Read a report: the whole text or its last line, for a fallback to logs brings other lines along.

    Unknown fields are ignored (a newer probe may add some); whatever else is wrong raises ReportError.
    """
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ReportError(f"the report is larger than {MAX_BYTES} bytes, which no termination message can be")
    lines = text.strip().split("\n")
    if lines == [""]:
        raise ReportError("the report is empty: the probe ended before it could write one")
    try:
        document = fields.load(lines[-1] if lines[-1].startswith("{") else text)
    except FieldError as error:
        raise ReportError(f"{error}: the probe was cut off, or the text is something else") from None
    try:
        found = Fields.of(document)
    except FieldError:
        raise ReportError("the report is not a JSON object") from None
    return read(found)


def read(found: Fields) -> ProbeReport:
    """The report that a JSON object is. Raises ReportError."""
    try:
        return _report(found)
    except FieldError as error:
        raise ReportError(str(error)) from None


def _report(found: Fields) -> ProbeReport:
    schema = found.entry.get("schema")
    if schema != SCHEMA:
        raise found.wrong("schema", f"{SCHEMA!r}, which this controller reads: use a probe image of the same version")
    readings = tuple(_reading(one) for one in found.objects("gpus"))
    if len(readings) > MOST_GPUS:
        raise FieldError(f"{found.name('gpus')} lists {len(readings)} GPUs, and no node has more than {MOST_GPUS}")
    if len({reading.index for reading in readings}) < len(readings):
        raise FieldError(f"{found.name('gpus')} lists one index twice, so a GPU would count twice")
    return ProbeReport(
        driver=found.text("driver", ""),
        nvml=found.text("nvml", ""),
        gpus=readings,
        error=_reason(found),
        message=found.text("message", ""),
    )


def _reading(found: Fields) -> GpuReading:
    total = found.whole("total", _LARGEST) if found.has("total") else None
    reserved = found.whole("reserved", _LARGEST) if found.has("reserved") else None
    if total is not None and reserved is not None and reserved > total:
        raise FieldError(f"{found.name('reserved')} ({reserved}) is larger than total ({total})")
    return GpuReading(
        index=found.whole("index", _LARGEST),
        name=found.text("name", ""),
        uuid=found.text("uuid", ""),
        total=total,
        reserved=reserved,
        ecc=found.flag("ecc") if found.has("ecc") else None,
        mig=tuple(_slice(one) for one in found.objects("mig")) if found.has("mig") else None,
        error=_reason(found),
    )


def _slice(found: Fields) -> MigSlice:
    return MigSlice(mib=found.whole("mib", LARGEST_MIB), count=found.whole("count", _MOST_SLICES))


def _reason(found: Fields) -> ProbeReason | None:
    # Those with an exit code: the controller's own reasons are not the probe's to give.
    return found.choice("error", EXIT_CODES) if found.has("error") else None
