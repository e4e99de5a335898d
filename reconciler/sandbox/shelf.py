"""What is there of one kind, and what changed lately? Encoded objects in key order, and a bounded log of changes."""

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import anyio

from reconciler.sandbox.kinds import Kind


class TooOld(Exception):
    """The log no longer reaches back to this version. `oldest` is the oldest it can start from."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"the log begins after version {oldest}")
        self.oldest = oldest


@dataclass(slots=True)
class Change:
    """One write. `now` of a deletion is the object's last state, carrying the deletion's own version."""

    version: int
    verb: str
    key: str
    now: bytes
    before: bytes | None
    encoded: bytes | None = None

    @property
    def line(self) -> bytes:
        """The watch line, made once for all watchers."""
        if self.encoded is None:
            self.encoded = watch_line(self.verb, self.now)
        return self.encoded


def watch_line(verb: str, data: bytes) -> bytes:
    return b'{"type":"' + verb.encode() + b'","object":' + data + b"}\n"


class Shelf:
    """All objects of one kind, in key order, and the log of their changes."""

    def __init__(self, kind: Kind, version: int, history: int) -> None:
        self.kind = kind
        self.closed = False
        self._history = history
        self._objects: dict[str, bytes] = {}
        self._order: list[str] = []
        self._log: list[Change] = []
        self._dropped = 0
        self._oldest = version
        self._waiting: list[anyio.Event] = []

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def watchers(self) -> int:
        """How many watches wait for a change."""
        return len(self._waiting)

    def raw(self, key: str) -> bytes | None:
        return self._objects.get(key)

    def keys(self) -> list[str]:
        return list(self._order)

    def items(self) -> list[tuple[str, bytes]]:
        """Everything, in key order."""
        return [(key, self._objects[key]) for key in self._order]

    def after(self, key: str, version: int) -> Iterator[tuple[str, bytes]]:
        """Objects with a greater key, as they were at `version`. Raises TooOld when the log cannot tell."""
        undo = {change.key: change.before for change in reversed(self._since(version))}
        keys: Iterable[str]
        if undo:
            keys = sorted(each for each in {*self._order, *undo} if each > key)
        else:
            keys = self._order[bisect.bisect_right(self._order, key) :]
        for each in keys:
            data = undo[each] if each in undo else self._objects[each]
            if data is not None:
                yield each, data

    def count(self, after: str, scope: str) -> int:
        """How many keys with this prefix come after a key."""
        ends = bisect.bisect_left(self._order, scope + "\U0010ffff") if scope else len(self._order)
        return ends - bisect.bisect_right(self._order, after)

    def _since(self, version: int) -> list[Change]:
        return self.changes(self.position(version))

    def position(self, version: int) -> int:
        """Where in the log the changes after `version` begin."""
        if version < self._oldest:
            raise TooOld(self._oldest)
        return self._dropped + bisect.bisect_right(self._log, version, key=lambda change: change.version)

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self._dropped + len(self._log)

    def changes(self, position: int) -> list[Change]:
        """Changes from a position on. Raises TooOld when some of them were dropped."""
        if position < self._dropped:
            raise TooOld(self._oldest)
        return self._log[position - self._dropped :]

    def compact(self, keep: int = 0) -> None:
        """Forget all but the newest `keep` changes: older watches and continue tokens answer 410."""
        if (surplus := len(self._log) - keep) > 0:
            self._oldest = self._log[surplus - 1].version
            self._dropped += surplus
            del self._log[:surplus]

    def record(self, change: Change) -> None:
        if change.before is None:
            bisect.insort(self._order, change.key)
        if change.verb == "DELETED":
            del self._objects[change.key]
            del self._order[bisect.bisect_left(self._order, change.key)]
        else:
            self._objects[change.key] = change.now
        self._log.append(change)
        if len(self._log) > 2 * self._history:
            self.compact(self._history)
        self.wake()

    def fill(self, items: Iterable[tuple[str, bytes]], version: int) -> None:
        self._objects.update(items)
        self._order = sorted(self._objects)
        self.compact()
        self._oldest = version
        self.wake()

    async def wait(self) -> None:
        """Return after the next change, or when something else wants the watchers' attention."""
        event = anyio.Event()
        self._waiting.append(event)
        try:
            await event.wait()
        finally:
            if event in self._waiting:
                self._waiting.remove(event)

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            event.set()
