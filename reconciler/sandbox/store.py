"""What is in the cluster? The objects of all kinds under one version counter, each written once at a time."""

import random
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime

from reconciler.sandbox.encoding import Json, decode, encode
from reconciler.sandbox.kinds import BUILT_IN, Kind
from reconciler.sandbox.shelf import Change, Shelf

FIRST_VERSION = 1000
"""Where versions begin, so that a watch from version 1 is too old, as on a server that has been up for a while."""


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
