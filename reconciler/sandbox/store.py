"""What is in the cluster, and what changed lately? Encoded objects, one version counter, a bounded log per kind."""

import bisect
import random
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import anyio

from reconciler.sandbox.encoding import Json, decode, encode
from reconciler.sandbox.kinds import BUILT_IN, Kind

FIRST_VERSION = 1000
"""Where versions begin, so that a watch from version 1 is too old, as on a server that has been up for a while."""


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


class Store:
    """The shelves of all kinds, under one version counter. Of Kubernetes it knows versions and uids alone."""

    def __init__(self, now: Callable[[], datetime], *, seed: int = 0, history: int = 4096) -> None:
        self.now = now
        self.version = FIRST_VERSION
        self._random = random.Random(seed)
        self._history = history
        self._shelves: dict[tuple[str, str, str], Shelf] = {}
        for kind in BUILT_IN:
            self.open(kind)

    def open(self, kind: Kind) -> None:
        """Begin to serve a kind."""
        place = (kind.group, kind.version, kind.plural)
        if place not in self._shelves:
            self._shelves[place] = Shelf(kind, self.version, self._history)

    def close(self, kind: Kind) -> None:
        """Stop serving a kind: its objects go, its watches end."""
        if (shelf := self._shelves.pop((kind.group, kind.version, kind.plural), None)) is not None:
            for key in shelf.keys():  # noqa: SIM118  # a shelf is no dict
                self._remove(shelf, key)
            shelf.closed = True
            shelf.wake()

    def find(self, group: str, version: str, plural: str) -> Shelf | None:
        return self._shelves.get((group, version, plural))

    def shelf(self, kind: Kind) -> Shelf:
        return self._shelves[kind.group, kind.version, kind.plural]

    def kinds(self) -> list[Kind]:
        return [shelf.kind for shelf in self._shelves.values()]

    def get(self, kind: Kind, key: str) -> Json | None:
        """A fresh copy, free to be changed."""
        data = self.shelf(kind).raw(key)
        return None if data is None else decode(data)

    def all(self, kind: Kind) -> list[Json]:
        return [decode(data) for _, data in self.shelf(kind).items()]

    def put(self, kind: Kind, key: str, obj: Json) -> bytes:
        """Write an object under the next version; says what is stored."""
        shelf = self.shelf(kind)
        before = shelf.raw(key)
        data = self._numbered(kind, obj)
        shelf.record(Change(self.version, "MODIFIED" if before is not None else "ADDED", key, data, before))
        return data

    def remove(self, kind: Kind, key: str) -> bytes:
        """Delete an object; says its last state. Raises KeyError when it is not there."""
        return self._remove(self.shelf(kind), key)

    def _remove(self, shelf: Shelf, key: str) -> bytes:
        before = shelf.raw(key)
        if before is None:
            raise KeyError(key)
        data = self._numbered(shelf.kind, decode(before))
        shelf.record(Change(self.version, "DELETED", key, data, before))
        return data

    def load(self, kind: Kind, items: Iterable[tuple[str, bytes]], version: int) -> None:
        """Take in many objects at once as (key, JSON), unchecked and unwatched; none is newer than `version`.

        The JSON may lack kind and apiVersion, as items of a list do; then it begins with the metadata.
        """
        self.version = max(self.version, version)
        whole = ((key, data if data.startswith(kind.prefix) else kind.prefix + data[1:]) for key, data in items)
        self.shelf(kind).fill(whole, self.version)

    def wake_all(self) -> None:
        """Let every open watch look around: faults changed."""
        for shelf in self._shelves.values():
            shelf.wake()

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def new_suffix(self) -> str:
        """Five letters for generateName, from the real server's alphabet (no vowels, no look-alikes)."""
        return "".join(self._random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))

    def _numbered(self, kind: Kind, obj: Json) -> bytes:
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        return encode({"kind": kind.kind, "apiVersion": kind.api_version} | _without_type(obj))


def _without_type(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def object_key(namespace: str, name: str) -> str:
    """The key of an object, ordered as etcd orders them."""
    return f"{namespace}/{name}" if namespace else name
