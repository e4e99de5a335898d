"""Which objects are in these bytes? Pages and watch lines of one kind; one odd object never stops the others.

The usual case is one decode straight into the kind's struct. Only when that fails are the bytes looked at again, object
by object, so that the odd one is told by name and field, and stepped over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw

from reconciler.kube.errors import Status, status_of
from reconciler.kube.parse import Odd
from reconciler.kube.trouble import Once, Report, Trouble, unforeseen
from reconciler.kube.wire import Bookmark, EventOf, HasMeta, Meta, PageOf

V = TypeVar("V")
W = TypeVar("W", bound=HasMeta)

INITIAL_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends a WatchList's first part (apimachinery, meta/v1 types)."""

UNREADABLE = (msgspec.DecodeError, RecursionError)
"""RecursionError is msgspec's word for a thousand nested brackets, also in fields that nobody asked for."""

_ENVELOPE = msgspec.json.Decoder(EventOf[Raw])
_RAW_PAGE = msgspec.json.Decoder(PageOf[Raw])
_BOOKMARK = msgspec.json.Decoder(Bookmark)


class _Identity(msgspec.Struct):
    metadata: Meta


_IDENTITY = msgspec.json.Decoder(_Identity)


@dataclass(frozen=True, slots=True)
class Item(Generic[V]):
    """One object. `view` None: it is not of interest (any more); `readable` False: it is there, and odd."""

    key: str
    view: V | None
    version: str = ""
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Removed:
    key: str
    version: str


@dataclass(frozen=True, slots=True)
class Marked:
    """A bookmark: all is told up to `version`. `initial_end`: so is all that there was at first."""

    version: str
    initial_end: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The server says that the watch is over, and why."""

    status: Status


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The line, or its object's name, cannot be read; it was told."""


@dataclass(frozen=True, slots=True)
class Page(Generic[V]):
    items: list[Item[V]]
    version: str
    cont: str


def by_name(meta: Meta) -> str:
    return meta.name


def by_uid(meta: Meta) -> str:
    """For kinds whose names are reused while events are on their way; a hand-made object may lack a UID."""
    return meta.uid or f"{meta.namespace}/{meta.name}"


class Reader(Generic[W, V]):
    """Reads one kind. `parse` makes the view, or None for an object of no interest."""

    def __init__(
        self,
        kind: str,
        wire: type[W],
        parse: Callable[[W, Odd], V | None],
        key: Callable[[Meta], str],
        report: Report,
    ) -> None:
        self.kind = kind
        self._parse = parse
        self._key = key
        self._report = Once(report)
        self._object = msgspec.json.Decoder(wire)
        self._page: msgspec.json.Decoder[PageOf[W]] = msgspec.json.Decoder(PageOf[wire])  # type: ignore[valid-type]  # a struct made at run time
        self._event: msgspec.json.Decoder[EventOf[W]] = msgspec.json.Decoder(EventOf[wire])  # type: ignore[valid-type]  # likewise

    def page(self, body: bytes) -> Page[V]:
        """One page of a list. Raises msgspec.DecodeError when the page as such cannot be read."""
        try:
            page = self._page.decode(body)
        except UNREADABLE:
            try:
                raw = _RAW_PAGE.decode(body)
            except RecursionError as error:
                raise msgspec.DecodeError(str(error)) from error
            read = [self._tolerantly(one) for one in raw.items or ()]
            items = [item for item in read if item is not None]
            return Page(items, raw.metadata.resource_version or "", raw.metadata.cont or "")
        items = [self._item(wire) for wire in page.items or ()]
        return Page(items, page.metadata.resource_version or "", page.metadata.cont or "")

    def event(self, line: bytes) -> Item[V] | Removed | Marked | Failed | Unreadable:
        """One line of a watch."""
        if not line.startswith((b'{"type":"BOOKMARK"', b'{"type":"ERROR"')):
            try:
                event = self._event.decode(line)
            except UNREADABLE:
                return self._odd_event(line)
            if event.type in ("ADDED", "MODIFIED"):
                return self._item(event.object)
            if event.type == "DELETED":
                meta = event.object.metadata
                return Removed(self._key(meta), meta.resource_version or "")
        return self._odd_event(line)

    def _item(self, wire: W) -> Item[V]:
        meta = wire.metadata
        try:
            view = self._parse(wire, lambda why: self._report(Trouble(self.kind, _name(meta), why)))
        except Exception as error:  # one object must not end the watch over all others (CONTRIBUTING.md, rule 6)
            self._report(unforeseen(self.kind, _name(meta), error))
            return Item(self._key(meta), None, meta.resource_version or "", readable=False)
        return Item(self._key(meta), view, meta.resource_version or "")

    def _odd_event(self, line: bytes) -> Item[V] | Removed | Marked | Failed | Unreadable:
        try:
            event = _ENVELOPE.decode(line)
            if event.type == "ERROR":
                return Failed(status_of(bytes(event.object)))
            if event.type == "BOOKMARK":
                meta = _BOOKMARK.decode(event.object).metadata
                ends = (meta.annotations or {}).get(INITIAL_END) == "true"
                return Marked(meta.resource_version or "", initial_end=ends)
            if event.type == "DELETED":
                identity = _IDENTITY.decode(event.object).metadata
                return Removed(self._key(identity), identity.resource_version or "")
        except UNREADABLE as error:
            self._report(Trouble(self.kind, "", f"a watch line of {len(line)} bytes cannot be read: {error}"))
            return Unreadable()
        return self._tolerantly(event.object) or Unreadable()

    def _tolerantly(self, raw: Raw) -> Item[V] | None:
        """One object by itself; what is wrong is told. None when it cannot even be named.

        Bytes that are no UTF-8 are replaced: the API server writes none, but whoever stands between us may.
        """
        text = bytes(raw).decode(errors="replace")
        try:
            return self._item(self._object.decode(text))
        except UNREADABLE as error:
            try:
                meta = _IDENTITY.decode(text).metadata
            except UNREADABLE:
                self._report(Trouble(self.kind, "", f"an object without a readable name is left out: {error}"))
                return None
            self._report(Trouble(self.kind, _name(meta), f"{error}; what was known of the object stays"))
            return Item(self._key(meta), None, meta.resource_version or "", readable=False)


def _name(meta: Meta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
