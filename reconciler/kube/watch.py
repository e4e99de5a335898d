"""How do we stay up to date with one kind of object? First all there is, then every change, for ever.

Rule 1: nothing slow is awaited while events are read; the sink is a plain call, and the loop gets its turn every few
events. Rule 2: a broken stream goes on from the last version; only a 410 leads to a new list. Rule 3: silence is a
failure, since a healthy server sends a bookmark a minute. Rule 4: a kind that is not there is looked for, slowly.
Rule 5: a right that is gone for moments, as while an API server starts, takes away nothing that is known.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
import msgspec

from reconciler.kube.errors import Expired, ask, meaning, status_of
from reconciler.kube.lines import Lines, LineTooLong
from reconciler.kube.news import News, Seen, Synced, Vanished
from reconciler.kube.reader import Failed, Item, Marked, Removed, Unreadable
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Once, Report, Trouble, unforeseen
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Request, Transport, TransportError

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations in seconds."""

    page: int = 500
    """Objects a page: 250 to 500 keep both the buffer and the pause of the event loop small."""
    lifetime: float = 300.0
    """How long a watch may last, and up to half as long again, so that watches do not end together."""
    silence: float = 90.0
    """A bookmark comes every 60 s (apiserver, cacher, bookmarkFrequency)."""
    absent: float = 30.0
    """Between looks for a kind that is not there."""
    answer: float = 60.0
    """For one page."""
    turn: int = 100
    """Events until the event loop gets its turn."""
    steady: float = 5.0
    """A watch that lived so long was no failure to connect, even when nothing came."""


class _Lists(enum.Enum):
    STREAMED = "WatchList"
    PAGED = "pages"


@dataclass(slots=True)
class Counts:
    """For metrics: what a watch went through."""

    events: int = 0
    lists: int = 0
    watches: int = 0
    failures: int = 0


class Watcher(Generic[V]):
    """Tells a sink all news of one kind. `synced` is set once the sink knows all there was at first."""

    def __init__(
        self,
        transport: Transport,
        source: Source[V],
        sink: Callable[[News[V]], None],
        *,
        backoff: Backoff,
        report: Report,
        pace: Pace | None = None,
    ) -> None:
        self.source = source
        self.synced = anyio.Event()
        self.absent = False
        """The kind, an optional one, is not there or not for us: then no objects are no evidence."""
        self.counts = Counts()
        self.heard: float | None = None
        """When the server last said anything of this kind, by the event loop's clock."""
        self._transport = transport
        self._sink = sink
        self._backoff = backoff
        self._report = report
        self._report_once = Once(report)
        self._pace = pace if pace is not None else Pace()
        self._lists = _Lists.STREAMED
        self._refused_streaming = False
        self._opened = False
        self._version = ""
        self._present: set[str] | None = None
        self._failures = 0
        self._denied_at: float | None = None
        """Since when we may not read a kind that we could read before."""

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await self._from_scratch()
            except Gone as error:
                await self._absent(error)
            except Forbidden as error:
                if self.source.optional and self._denied_for_good():
                    await self._absent(error)
                else:
                    await self._pause(error)
            except (Stale, Rejected, Unavailable) as error:
                await self._pause(error)

    async def _from_scratch(self) -> None:
        """All there is, then changes, until only a new list helps. Always ends by raising."""
        self.counts.lists += 1
        self._present = set()
        if self._lists is _Lists.STREAMED:
            await self._stream_all()
        else:
            await self._page_all()
        while True:
            try:
                await self._watch({"resourceVersion": self._version})
            except Unavailable as error:
                await self._pause(error)

    async def _stream_all(self) -> None:
        """The list as the first part of a watch (KEP-3157). Where that does not work, the next list is by pages."""
        self._opened = False
        try:
            await self._watch({"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"})
        except Rejected as error:
            self._lists, self._refused_streaming = _Lists.PAGED, True
            raise Unavailable(f"{error}; listing by pages instead") from error
        except Unavailable as error:
            if self._present is not None:
                if self._opened:
                    self._lists = _Lists.PAGED
                raise
            await self._pause(error)
        if self._present is not None:
            self._lists = _Lists.PAGED
            raise Unavailable(f"watching {self.source.path}: the stream ended before the first objects were all told")

    async def _page_all(self) -> None:
        cont = ""
        while True:
            query = {**self.source.selectors, "limit": str(self._pace.page), **({"continue": cont} if cont else {})}
            request = Request("GET", self.source.path, query, timeout=self._pace.answer)
            body = (await ask(self._transport, request)).body
            self.heard = anyio.current_time()
            try:
                page = self.source.reader.page(body)
            except msgspec.DecodeError as error:
                raise Unavailable(f"listing {self.source.path}: the answer cannot be read: {error}") from error
            for item in page.items:
                self._take(item)
            await anyio.lowlevel.checkpoint()
            cont = page.cont
            if not cont:
                self._version = page.version
                return self._complete()

    async def _watch(self, query: dict[str, str]) -> None:
        """One request. Returns when the server ends it; raises Unavailable, or what the answer means."""
        pace, path = self._pace, self.source.path
        lifetime = str(int(pace.lifetime * (1.0 + self._backoff.random() / 2)))
        query = {**self.source.selectors, **query, "watch": "true", "allowWatchBookmarks": "true"}
        request = Request("GET", path, {**query, "timeoutSeconds": lifetime}, timeout=pace.silence)
        started = anyio.current_time()
        self.counts.watches += 1
        try:
            async with self._transport.stream(request) as stream:
                if stream.status != 200:
                    raise meaning(f"watching {path}", stream.status, status_of(await stream.read()))
                self._opened = True
                lines, since_turn = Lines(), 0
                async for chunk in stream.chunks():
                    self.heard = anyio.current_time()
                    for line in lines.feed(chunk):
                        self._line(line)
                        since_turn += 1
                        if since_turn >= pace.turn:
                            since_turn = 0
                            await anyio.lowlevel.checkpoint()
        except (TransportError, LineTooLong) as error:
            raise Unavailable(f"watching {path}: {error}") from error
        if anyio.current_time() - started < pace.steady:
            raise Unavailable(f"watching {path}: the server ended the watch at once")
        self._failures = 0

    def _line(self, line: bytes) -> None:
        self.counts.events += 1
        event = self.source.reader.event(line)
        if self._present is None and not isinstance(event, Failed):
            # The first objects are no sign of health: a server may tell them all and then break off, again and again.
            self._failures = 0
        match event:
            case Item() as item:
                self._take(item)
                self._version = item.version or self._version
            case Removed(key, version):
                self._version = version or self._version
                if self._present is not None:
                    self._present.discard(key)
                self._tell(Vanished(key), key)
            case Marked(version, initial_end):
                self._version = version or self._version
                if initial_end and self._present is not None:
                    self._complete()
            case Failed(status):
                raise meaning(f"watching {self.source.path}", status.code or 500, status)
            case Unreadable():
                pass

    def _take(self, item: Item[V]) -> None:
        if item.view is not None:
            self._tell(Seen(item.key, item.view), item.key)
        elif item.readable:
            self._tell(Vanished(item.key), item.key)
        if self._present is not None and (item.view is not None or not item.readable):
            self._present.add(item.key)

    def _complete(self, *, absent: bool = False) -> None:
        present, self._present = self._present or set(), None
        if not self._refused_streaming:
            self._lists = _Lists.STREAMED
        self.absent, self._denied_at = absent, None
        self._tell(Synced(present), "")
        self.synced.set()

    def _tell(self, news: News[V], name: str) -> None:
        try:
            self._sink(news)
        except Exception as error:  # one object must not end the watch over all others (CONTRIBUTING.md, rule 6)
            self._report_once(unforeseen(self.source.kind, name, error))

    def _denied_for_good(self) -> bool:
        """An API server that has just started denies what it has not read the rules of yet."""
        if self.absent or not self.synced.is_set():
            return True
        now = anyio.current_time()
        if self._denied_at is None:
            self._denied_at = now
        return now - self._denied_at >= self._pace.absent

    async def _absent(self, error: Exception) -> None:
        """The kind is not there (any more), or not for us: then there are no objects of it."""
        if not self.source.optional:
            await self._pause(error)
            return
        self.heard = anyio.current_time()
        if self._present is None or not self.synced.is_set():
            self._report(Trouble(self.source.kind, "", f"{error}; looked for again every {self._pace.absent:g} s"))
        self._present = set()
        self._complete(absent=True)
        await anyio.sleep(self._pace.absent)

    async def _pause(self, error: Exception) -> None:
        self.counts.failures += 1
        self._failures += 1
        wait = self._backoff.wait(self._failures)
        if isinstance(error, Unavailable) and error.after is not None:
            wait = max(wait, error.after)
        if not isinstance(error, Expired):
            self._report(Trouble(self.source.kind, "", f"{error}; again in {wait:.1f} s"))
        await anyio.sleep(wait)
