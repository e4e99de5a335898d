"""What does a watch say, and when does it end? Events, bookmarks, initial events, 410 when the log is too short."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass

import anyio

from reconciler.sandbox.encoding import Json, decode, encode
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.refusal import Refusal, bad_request, status_object
from reconciler.sandbox.routes import Route
from reconciler.sandbox.selectors import Selector, selector
from reconciler.sandbox.shelf import Change, Shelf, TooOld, watch_line
from reconciler.sandbox.store import Store

BOOKMARK_EVERY = 60.0
"""Seconds between bookmarks, about as on the real server (cacher's bookmarkFrequency is one minute)."""

LONGEST_WATCH = 1800.0
"""Seconds a watch lasts that gave no timeoutSeconds (min-request-timeout; the real one adds up to as much again)."""

_BLOCK = 200_000
"""Bytes that are joined into one chunk: a write per event is what makes a server slow."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What the client asked for. `version` None or 0: begin with what is there as ADDED events."""

    chosen: Selector
    scope: str
    version: int
    bookmarks: bool
    mark_end: bool
    timeout: float

    @property
    def initial(self) -> bool:
        return self.version == 0 or self.mark_end


def watch_options(route: Route, query: Mapping[str, str]) -> WatchOptions:
    """Read the query. Raises a Refusal for numbers that are none and for the combinations the server forbids."""
    fields = dict(query)
    if route.name:
        fields["fieldSelector"] = f"metadata.name={route.name}"
    mark_end = _true(fields.get("sendInitialEvents"))
    if mark_end and fields.get("resourceVersionMatch") != "NotOlderThan":
        text = (
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
        raise Refusal(422, "Invalid", text)
    return WatchOptions(
        chosen=selector(route.shelf.kind, fields),
        scope=f"{route.namespace}/" if route.namespace else "",
        version=_whole(fields, "resourceVersion"),
        bookmarks=_true(fields.get("allowWatchBookmarks")),
        mark_end=mark_end,
        timeout=float(_whole(fields, "timeoutSeconds")) or LONGEST_WATCH,
    )


def _true(text: str | None) -> bool:
    return text in ("true", "1")


def _whole(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name) or "0"
    if not text.isdigit():
        raise bad_request(f'{name}: Invalid value: "{text}": must be a whole number')
    return int(text)


async def watch(store: Store, route: Route, options: WatchOptions) -> AsyncGenerator[bytes, None]:
    """Yield blocks of whole lines until the time is up. An empty block means: nothing new, but look around."""
    shelf = route.shelf
    now = anyio.current_time()
    deadline = now + options.timeout
    bookmark_at = _next_bookmark(options, now, deadline)
    try:
        position = shelf.end if options.initial else shelf.position(options.version)
    except TooOld as old:
        yield error_line(410, "Expired", f"too old resource version: {options.version} ({old.oldest})")
        return
    for block in _blocks(_first_lines(store, shelf, options)):
        yield block
    while True:
        closed = shelf.closed
        try:
            changes = shelf.changes(position)
        except TooOld:
            return  # too slow a reader: the real server closes the connection
        position += len(changes)
        seen = changes[-1].version if changes else store.version
        yield b"".join(_lines(options, changes))
        now = anyio.current_time()
        if closed or now >= deadline:
            return
        if now >= bookmark_at:
            bookmark_at = _next_bookmark(options, now, deadline)
            yield bookmark(shelf.kind, seen)
        if position == shelf.end and not shelf.closed:
            with anyio.move_on_after(min(deadline, bookmark_at) - now):
                await shelf.wait()


def _next_bookmark(options: WatchOptions, now: float, deadline: float) -> float:
    """Every minute, and two seconds before the end (cacheWatcher.nextBookmarkTime)."""
    if not options.bookmarks:
        return deadline
    last = deadline - 2.0
    return min(now + BOOKMARK_EVERY, last if last > now else deadline)


def _first_lines(store: Store, shelf: Shelf, options: WatchOptions) -> Iterator[bytes]:
    """What is there already, as ADDED events, and the mark after it."""
    if not options.initial:
        return
    version = store.version
    for key, data in shelf.items():
        if key.startswith(options.scope) and (not options.chosen or options.chosen.accepts(data)):
            yield watch_line("ADDED", data)
    if options.mark_end and options.bookmarks:
        yield bookmark(shelf.kind, version, end_of_initial=True)


def _lines(options: WatchOptions, changes: Iterable[Change]) -> Iterator[bytes]:
    for change in changes:
        if not change.key.startswith(options.scope):
            continue
        if not options.chosen:
            yield change.line
            continue
        was = change.before is not None and options.chosen.accepts(change.before)
        if change.verb == "DELETED":
            if was:
                yield change.line
        elif options.chosen.accepts(change.now):
            yield change.line if was or change.before is None else watch_line("ADDED", change.now)
        elif was and change.before is not None:
            yield watch_line("DELETED", _renumbered(change.before, change.version))


def _renumbered(data: bytes, version: int) -> bytes:
    """An object that leaves a selection is reported as it was, under the version at which it left."""
    obj: Json = decode(data)
    obj["metadata"]["resourceVersion"] = str(version)
    return encode(obj)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= _BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def bookmark(kind: Kind, version: int, *, end_of_initial: bool = False) -> bytes:
    """A line that says only: you have seen everything up to this version."""
    meta: Json = {"resourceVersion": str(version)}
    if end_of_initial:
        meta["annotations"] = {INITIAL_EVENTS_END: "true"}
    return watch_line("BOOKMARK", encode({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}))


def error_line(code: int, reason: str, message: str) -> bytes:
    """An ERROR event: the server's way to refuse once the answer has begun."""
    return watch_line("ERROR", encode(status_object(code, reason, message)))
