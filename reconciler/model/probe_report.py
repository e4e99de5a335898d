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

MAX_LOG_BYTES = 2048
"""What FallbackToLogsOnError takes from the end of the log (ibid., MaxContainerTerminationMessageLogLength)."""

_LARGEST = 2**63 - 1
"""Kubernetes counts in signed 64 bits, and no GPU has an exbibyte."""


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
    document = _load(text)
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
    readings = tuple(_reading(entry, f"gpus[{position}]") for position, entry in enumerate(gpus))
    if len({reading.index for reading in readings}) < len(readings):
        raise ReportError("gpus lists one index twice, so a GPU would count twice")
    return ProbeReport(
        driver=_text(document, "driver", "the report"),
        nvml=_text(document, "nvml", "the report"),
        gpus=readings,
        error=_reason(document, "the report"),
        message=_text(document, "message", "the report"),
    )


def _load(text: str) -> Any:
    lines = text.strip().split("\n")
    if lines == [""]:
        raise ReportError("the report is empty: the probe ended before it could write one")
    try:
        return json.loads(lines[-1] if lines[-1].startswith("{") else text)
    except RecursionError:  # json's word for thousands of nested brackets
        raise ReportError("not a report: nested too deeply") from None
    except ValueError as error:
        raise ReportError(f"not JSON ({error}): the probe was cut off, or the text is something else") from None


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
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise ReportError(f"{where}.{key} is {str(value)[:40]}, not a whole number from 0 to {_LARGEST}")
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
    for reason in EXIT_CODES:  # the controller's own reasons are not the probe's to give
        if value == reason.value:
            return reason
    raise ReportError(f"{where}.error is {value!r}, which is not in the documented list")
