"""What did NVML find, and how is it written? The report that the probe writes and the controller reads.

The format is documented in docs/probe-report.md with a JSON schema. Only the standard library is used: the probe's
image path imports this file and pynvml, and nothing else.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SCHEMA = "gpu-reconciler.io/probe-report/v1"
MAX_BYTES = 4096
"""The kubelet cuts a termination message at this size (pkg/kubelet/container, MaxContainerTerminationMessageLength)."""


class ProbeReason(StrEnum):
    """Why there is no full answer. The closed list; exit codes are in EXIT_CODES."""

    LIBRARY_NOT_FOUND = "LibraryNotFound"
    DRIVER_NOT_LOADED = "DriverNotLoaded"
    VERSION_MISMATCH = "DriverVersionMismatch"
    GPU_LOST = "GpuLost"
    NO_PERMISSION = "NoPermission"
    NOT_SUPPORTED = "NotSupported"
    UNIFIED_MEMORY = "UnifiedMemory"
    NO_GPU = "NoGpu"
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

    def to_json(self) -> str:
        """At most MAX_BYTES of UTF-8: first the UUIDs go, then the message is cut; GPUs are never left out."""
        document = _document(self)
        text = _dump(document)
        if len(text.encode()) > MAX_BYTES:
            for gpu in document["gpus"]:
                gpu.pop("uuid", None)
            text = _dump(document)
        excess = len(text.encode()) - MAX_BYTES
        if excess > 0 and document.get("message"):
            kept = document["message"].encode()[: -excess - 3]
            document["message"] = kept.decode(errors="ignore") + "…"
            text = _dump(document)
        return text


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


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
    """Read a report. Unknown fields are ignored (a newer probe may add some); raises ReportError otherwise."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ReportError(f"the report is larger than {MAX_BYTES} bytes, which no termination message can be")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ReportError(f"not JSON ({error}): the probe was cut off, or the text is something else") from None
    if not isinstance(document, dict):
        raise ReportError("the report is not a JSON object")
    schema = document.get("schema")
    if schema != SCHEMA:
        raise ReportError(
            f"schema is {schema!r}, this controller reads {SCHEMA!r}: use a probe image of the same version"
        )
    gpus = document.get("gpus", [])
    if not isinstance(gpus, list):
        raise ReportError("gpus is not a list")
    return ProbeReport(
        driver=_text(document, "driver", "the report"),
        nvml=_text(document, "nvml", "the report"),
        gpus=tuple(_reading(entry, f"gpus[{position}]") for position, entry in enumerate(gpus)),
        error=_reason(document, "the report"),
        message=_text(document, "message", "the report"),
    )


def _reading(entry: Any, where: str) -> GpuReading:
    if not isinstance(entry, dict):
        raise ReportError(f"{where} is not an object")
    index = _number(entry, "index", where)
    if index is None:
        raise ReportError(f"{where}.index is missing")
    total = _number(entry, "total", where)
    reserved = _number(entry, "reserved", where)
    if total is not None and reserved is not None and reserved > total:
        raise ReportError(f"{where}.reserved ({reserved}) is larger than total ({total})")
    ecc = entry.get("ecc")
    if ecc is not None and not isinstance(ecc, bool):
        raise ReportError(f"{where}.ecc is {ecc!r}, not true or false")
    return GpuReading(
        index=index,
        name=_text(entry, "name", where),
        uuid=_text(entry, "uuid", where),
        total=total,
        reserved=reserved,
        ecc=ecc,
        mig=_mig(entry.get("mig"), f"{where}.mig"),
        error=_reason(entry, where),
    )


def _mig(value: Any, where: str) -> tuple[MigSlice, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(piece, dict) for piece in value):
        raise ReportError(f"{where} is not a list of objects")
    slices = []
    for piece in value:
        mib, count = _number(piece, "mib", where), _number(piece, "count", where)
        if mib is None or count is None:
            raise ReportError(f"{where} has an entry without mib or count")
        slices.append(MigSlice(mib=mib, count=count))
    return tuple(slices)


def _number(entry: dict[str, Any], key: str, where: str) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReportError(f"{where}.{key} is {value!r}, not a whole number of at least 0")
    return value


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise ReportError(f"{where}.{key} is {value!r}, not a text")
    return value


def _reason(entry: dict[str, Any], where: str) -> ProbeReason | None:
    value = entry.get("error")
    if value is None:
        return None
    try:
        return ProbeReason(value)
    except ValueError:
        raise ReportError(f"{where}.error is {value!r}, which is not in the documented list") from None
