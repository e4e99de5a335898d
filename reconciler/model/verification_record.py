"""How did a node's verification end, and in which boot? The annotation `gpu-reconciler.io/verified`."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.model import fields
from reconciler.model.fields import LARGEST_INT, FieldError, Fields
from reconciler.model.record import UnreadableRecord

VERSION = 1


class Result(StrEnum):
    VERIFIED = "verified"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Nothing was tried, by somebody's decision."""


@dataclass(frozen=True, slots=True)
class VerificationRecord:
    boot_id: str
    at: datetime
    """When the Job ended."""
    result: Result
    failed: tuple[str, ...] = ()
    """Names of the steps that failed."""

    def to_json(self) -> str:
        document = {"v": VERSION, "result": self.result.value, "bootID": self.boot_id, "at": self.at.isoformat()}
        failed = {"failed": " ".join(self.failed)} if self.failed else {}
        return json.dumps({**document, **failed}, separators=(",", ":"))


def parse(text: str) -> VerificationRecord | UnreadableRecord:
    """Read the annotation. Total: what cannot be read is a value, since a person may have edited it."""
    try:
        found = Fields.of(fields.load(text))
        if (version := found.whole("v", LARGEST_INT)) != VERSION:
            raise FieldError(f"v is {version}, this version reads {VERSION}")
        return VerificationRecord(
            boot_id=found.text("bootID"),
            at=found.moment("at"),
            result=found.choice("result", Result),
            failed=tuple(found.text("failed", "").split()),
        )
    except FieldError as error:
        return UnreadableRecord(str(error))
