"""What did the controller ask of the API server? Every request by its door, with the time of the answer."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio

from reconciler.runtime.transport import Request, Response, Stream, Transport

_PATH = re.compile(
    r"/apis?(?:/[^/]+)?/v[^/]+(?:/namespaces/[^/]+)?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?P<sub>/.+)?)?"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One answered request. `at` is the event loop's time."""

    at: float
    method: str
    path: str
    status: int

    def __str__(self) -> str:
        """`PATCH nodes/status`."""
        match = _PATH.fullmatch(self.path)
        what = self.path if match is None else match["plural"] + (match["sub"] or "")
        return f"{self.method} {what}"


class Counted:
    """A Transport that remembers the calls. Lists and watches are none: they serve all nodes at once."""

    def __init__(self, transport: Transport) -> None:
        self.calls: list[Call] = []
        self._transport = transport
        self._answered = anyio.Event()

    async def send(self, request: Request) -> Response:
        response = await self._transport.send(request)
        match = _PATH.fullmatch(request.path)
        if request.method != "GET" or (match is not None and match["name"] is not None):
            self.calls.append(Call(anyio.current_time(), request.method, request.path, response.status))
            self._answered.set()
        return response

    async def since(self, place: int, enough: Callable[[Sequence[Call]], object], seconds: float = 5.0) -> list[Call]:
        """The calls from that place on, once they are enough, or when the time is over.

        What a call does may be seen in the cluster before its answer is here.
        """
        with anyio.move_on_after(seconds):
            while not enough(self.calls[place:]):
                self._answered = anyio.Event()
                await self._answered.wait()
        return self.calls[place:]

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._transport.stream(request) as stream:
            yield stream


def in_words(calls: Iterable[Call]) -> str:
    """`3 PATCH nodes/status, 1 POST jobs`, in the order in which they came first."""
    counts = Counter(str(call) for call in calls)
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "none"


def until_patched(calls: Sequence[Call], node: str) -> Sequence[Call]:
    """The calls up to the first that wrote this node's status, that one included; all where there was none."""
    for place, call in enumerate(calls, start=1):
        if _patches(call, node):
            return calls[:place]
    return calls


def patched(calls: Iterable[Call], node: str) -> bool:
    """Whether one of them wrote this node's status."""
    return any(_patches(call, node) for call in calls)


def _patches(call: Call, node: str) -> bool:
    return call.method == "PATCH" and call.path == f"/api/v1/nodes/{node}/status"
