"""How does a request reach an API server? The seam between the Kubernetes door and HTTP, or an in-memory server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is absolute and already escaped; `query` values are plain text."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    accept: str = "application/json"
    timeout: float = 30.0
    """Seconds for the whole answer; for a stream, seconds of silence before it counts as stalled."""


@dataclass(frozen=True, slots=True)
class Response:
    """One whole answer. `retry_after` is the server's wish in seconds, where it gave one."""

    status: int
    body: bytes = b""
    retry_after: float | None = None


class TransportError(Exception):
    """The server could not be reached, went silent, or broke off. The text says which, and the address."""


class Stream(Protocol):
    """An answer that is read as it comes. Chunks are arbitrary cuts of the byte stream, not lines."""

    @property
    def status(self) -> int: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield bytes until the server ends the answer. Raises TransportError when it breaks off or stalls."""
        ...

    async def read(self) -> bytes:
        """Read the rest: for answers that turn out to be errors."""
        ...


class Transport(Protocol):
    """Sends requests with credentials. Statuses are answers, not exceptions; only TransportError is raised."""

    async def send(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]: ...
