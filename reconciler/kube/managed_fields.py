"""Who wrote it last, and when? What the API server keeps in `metadata.managedFields`.

Only evidence for a sentence: whoever writes may name itself as it likes, and some servers' clients remove the field.
"""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct, field

from reconciler.kube.wire import ABSENT
from reconciler.model import names

_LONGEST_NAME = 128
"""Characters of a field manager, the API server's own limit (apimachinery, validation of field managers)."""


class _Labels(Struct, gc=False):
    profile: Raw = field(default=ABSENT, name=f"f:{names.PLUGIN_CONFIG}")


class _Metadata(Struct, gc=False):
    labels: _Labels | None = field(default=None, name="f:labels")


class _Fields(Struct, gc=False):
    metadata: _Metadata | None = field(default=None, name="f:metadata")


class _Owner(Struct, gc=False):
    manager: str | None = None
    time: str | None = None
    fields: _Fields | None = field(default=None, name="fieldsV1")


class _Change(Struct, gc=False):
    time: str | None = None


_OWNERS = msgspec.json.Decoder(list[_Owner] | None)
_CHANGES = msgspec.json.Decoder(list[_Change] | None)

_UNREADABLE = (msgspec.DecodeError, RecursionError)


def writer_of_profile(managed_fields: Raw) -> str:
    """The manager that last wrote the label names.PLUGIN_CONFIG; empty where nobody says, or nobody can tell."""
    try:
        owners = _OWNERS.decode(managed_fields) or ()
    except _UNREADABLE:
        return ""
    found: _Owner | None = None
    for owner in owners:  # by hand: this is read for each event of a node with the label
        labels = (
            owner.fields.metadata.labels if owner.fields is not None and owner.fields.metadata is not None else None
        )
        if (
            labels is not None
            and labels.profile != ABSENT
            and (found is None or (owner.time or "") > (found.time or ""))
        ):
            found = owner
    return "" if found is None else sys.intern((found.manager or "")[:_LONGEST_NAME])


def last_change(managed_fields: Raw) -> datetime | None:
    """When anybody last changed the object, to the second."""
    try:
        changes = _CHANGES.decode(managed_fields) or ()
    except _UNREADABLE:
        return None
    return max((at for change in changes for at in _moment(change.time)), default=None)


def _moment(text: str | None) -> Iterable[datetime]:
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return
    yield at if at.tzinfo is not None else at.replace(tzinfo=UTC)
