"""Who are we to the API server? The Authorization header of the moment, and a fresh one when it is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from reconciler.runtime.transport import TransportError

FRESH = 60.0
"""Seconds that a token file is not read again. The kubelet rotates it long before the token ends."""


class Credentials(Protocol):
    async def authorization(self) -> str:
        """The header's value; empty where a client certificate says it all. Raises TransportError."""
        ...

    async def renewed(self, refused: str) -> bool:
        """Whether there is another value now than the one that was refused. Raises TransportError."""
        ...


class Fixed:
    """A header that never changes, or none."""

    def __init__(self, header: str = "") -> None:
        self._header = header

    async def authorization(self) -> str:
        return self._header

    async def renewed(self, refused: str) -> bool:
        return False


class TokenFile:
    """A file that somebody rotates. Read on the event loop: a projected token is a kilobyte in memory."""

    def __init__(self, path: Path, time: Callable[[], float]) -> None:
        self._path = path
        self._time = time
        self._header = ""
        self._read_at = -FRESH

    async def authorization(self) -> str:
        if not self._header or self._time() - self._read_at >= FRESH:
            self._read()
        return self._header

    async def renewed(self, refused: str) -> bool:
        self._read()
        return self._header != refused

    def _read(self) -> None:
        """Take over what the file holds; between two rotations it may be missing or empty, then the old one stays."""
        self._read_at = self._time()
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            if not self._header:
                raise TransportError(f"the token file {self._path} cannot be read: {error}") from error
            return
        if token:
            self._header = f"Bearer {token}"
        elif not self._header:
            raise TransportError(f"the token file {self._path} is empty")
