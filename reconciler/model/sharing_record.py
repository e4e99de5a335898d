"""What did we last do about a node's sharing? The annotation `gpu-reconciler.io/sharing`, our memory on the node."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reconciler.model import fields
from reconciler.model.fields import LARGEST_INT, FieldError, Fields
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing import Contender

VERSION = 1


@dataclass(frozen=True, slots=True)
class SharingRecord:
    profile: str | None = None
    """What we last wrote as the label's value; None: the label is not ours."""
    at: datetime | None = None
    """When we wrote it: how long the plugin has had to follow."""
    contender: Contender | None = None
    restarts: int = 0
    """How many plugin pods we have deleted since `at`, because they offered nothing."""
    rest: datetime | None = None
    """No new fence before this time: the last one's deadline passed while pods still held GPUs."""

    def to_json(self) -> str:
        document: dict[str, Any] = {"v": VERSION, "profile": self.profile}
        if self.at is not None:
            document["at"] = self.at.isoformat()
        if self.contender is not None:
            who = self.contender
            document["contender"] = {"who": who.who, "count": who.count, "since": who.since.isoformat()}
        if self.restarts:
            document["restarts"] = self.restarts
        if self.rest is not None:
            document["rest"] = self.rest.isoformat()
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def parse(text: str) -> SharingRecord | UnreadableRecord:
    """Read the annotation. Total: what cannot be read is a value, since a person may have edited it."""
    try:
        found = Fields.of(fields.load(text))
        if (version := found.whole("v", LARGEST_INT)) != VERSION:
            raise FieldError(f"v is {version}, this version reads {VERSION}")
        return SharingRecord(
            profile=found.text("profile") if found.has("profile") else None,
            at=found.moment("at") if found.has("at") else None,
            contender=_contender(found.object("contender")) if found.has("contender") else None,
            restarts=found.whole("restarts", LARGEST_INT) if found.has("restarts") else 0,
            rest=found.moment("rest") if found.has("rest") else None,
        )
    except FieldError as error:
        return UnreadableRecord(str(error))


def _contender(found: Fields) -> Contender:
    return Contender(found.text("who"), found.whole("count", LARGEST_INT), found.moment("since"))
