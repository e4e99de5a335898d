"""Who wrote it last, and when? What the API server keeps in `metadata.managedFields`.

Only evidence for a sentence: whoever writes may name itself as it likes, and some servers' clients remove the field.
"""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct, field

from reconciler.kube.wire import ABSENT
from reconciler.model import names

_PROFILE = f"f:{names.PLUGIN_CONFIG}"
_PROFILE_BYTES = f'"{_PROFILE}"'.encode()
_LONGEST_NAME = 128
"""Characters of a field manager, the API server's own limit (apimachinery, validation of field managers)."""


class _Labels(Struct, gc=False):
    profile: Raw = field(default=ABSENT, name=_PROFILE)


class _Metadata(Struct, gc=False):
    labels: _Labels | None = field(default=None, name="f:labels")


class _Fields(Struct, gc=False):
    metadata: _Metadata | None = field(default=None, name="f:metadata")


class _Entry(Struct, gc=False):
    manager: str | None = None
    time: str | None = None
    fields: Raw = field(default=ABSENT, name="fieldsV1")


_ENTRIES = msgspec.json.Decoder(list[_Entry] | None)
_FIELDS = msgspec.json.Decoder(_Fields | None)

_UNREADABLE = (msgspec.DecodeError, RecursionError)


def writer_of_profile(managed_fields: Raw) -> str:
    """The manager that last wrote the label names.PLUGIN_CONFIG; empty where nobody says, or nobody can tell."""
    raw = bytes(managed_fields)
    if _PROFILE_BYTES not in raw:
        return ""
    owners = [entry for entry in _entries(raw) if _owns_profile(bytes(entry.fields))]
    newest = max(owners, key=lambda entry: entry.time or "", default=None)
    return "" if newest is None else sys.intern((newest.manager or "")[:_LONGEST_NAME])


def last_change(managed_fields: Raw) -> datetime | None:
    """When anybody last changed the object, to the second."""
    return max((at for entry in _entries(bytes(managed_fields)) for at in _moment(entry.time)), default=None)


def _entries(raw: bytes) -> Sequence[_Entry]:
    if not raw:
        return ()
    try:
        return _ENTRIES.decode(raw) or ()
    except _UNREADABLE:
        return ()


def _owns_profile(raw: bytes) -> bool:
    if _PROFILE_BYTES not in raw:
        return False
    try:
        found = _FIELDS.decode(raw)
    except _UNREADABLE:
        return False
    labels = found.metadata.labels if found is not None and found.metadata is not None else None
    return labels is not None and labels.profile != ABSENT


def _moment(text: str | None) -> Iterable[datetime]:
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return
    yield at if at.tzinfo is not None else at.replace(tzinfo=UTC)
