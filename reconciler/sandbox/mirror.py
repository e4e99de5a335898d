"""What does a controller see of the cluster? A copy of some objects, kept by list and watch, and a bell that rings."""

from collections.abc import Iterable, Iterator
from contextlib import aclosing

import anyio

from reconciler.runtime.transport import TransportError
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.store import object_key

_AGAIN = 1.0
"""Seconds to wait after a failure before listing again."""


class Bell:
    """Rings for one listener; rings while nobody listens are kept as one."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Until it rings, or so many seconds."""
        with anyio.move_on_after(seconds):
            await self._rung.wait()
        self._rung = anyio.Event()


class Mirror:
    """Objects of one kind by key. What a controller writes itself is noted at once, before the watch brings it."""

    def __init__(self, client: Client, kind: Kind, *bells: Bell, fields: str = "") -> None:
        self.kind = kind
        self.synced = anyio.Event()
        self._client = client
        self._bells = list(bells)
        self._fields = fields
        self._objects: dict[str, Json] = {}

    def __iter__(self) -> Iterator[Json]:
        return iter(list(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, namespace: str, name: str) -> Json | None:
        return self._objects.get(object_key(namespace, name))

    def ring_for(self, bell: Bell) -> None:
        """From now on ring this bell as well."""
        self._bells.append(bell)

    def _ring(self) -> None:
        for bell in self._bells:
            bell.ring()

    def note(self, obj: Json) -> None:
        """Take in an object if it is newer than what is known."""
        key = _key(obj)
        known = self._objects.get(key)
        if known is None or _version(known) < _version(obj):
            self._objects[key] = obj

    def forget(self, obj: Json) -> None:
        """Take out an object that is gone; not a later one of the same name."""
        key = _key(obj)
        known = self._objects.get(key)
        if known is not None and known["metadata"]["uid"] == obj["metadata"]["uid"]:
            del self._objects[key]

    async def run(self) -> None:
        """Keep the copy for ever, through refusals and broken connections."""
        while True:
            try:
                items, version = await self._client.list(self.kind, self._fields)
                self._replace(items)
                self.synced.set()
                await self._follow(version)
            except (Rejected, TransportError):
                await anyio.sleep(_AGAIN)

    def _replace(self, items: Iterable[Json]) -> None:
        self._objects = {_key(item): item for item in items}
        self._ring()

    async def _follow(self, version: str) -> None:
        """Watch until something is wrong; a watch that ends in peace goes on where it was."""
        while True:
            async with aclosing(self._client.watch(self.kind, version, self._fields)) as events:
                async for event in events:
                    if event["type"] == "ERROR":
                        return
                    self._take(event["type"], event["object"])
                    version = event["object"]["metadata"]["resourceVersion"]
            await anyio.sleep(0.01)

    def _take(self, verb: str, obj: Json) -> None:
        match verb:
            case "BOOKMARK":
                return
            case "DELETED":
                self.forget(obj)
            case _:
                self.note(obj)
        self._ring()


class Mirrors:
    """One mirror for each kind, shared by all who look at it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._mirrors: dict[Kind, Mirror] = {}

    def of(self, kind: Kind, bell: Bell) -> Mirror:
        """The mirror of this kind, which rings the bell. Ask before `run`."""
        mirror = self._mirrors.setdefault(kind, Mirror(self._client, kind))
        mirror.ring_for(bell)
        return mirror

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            for mirror in self._mirrors.values():
                group.start_soon(mirror.run)


def _version(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _key(obj: Json) -> str:
    return object_key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
