"""What tests of whole processes need of the machine."""

import gc
import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(autouse=True)
def thaw() -> Iterator[None]:
    """A process freezes what its first sync made, for its life; this one goes on."""
    yield
    gc.unfreeze()
