"""What tests of whole processes need of the machine."""

import gc
import socket
from collections.abc import Iterator

import pytest
import structlog


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


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A command points the log at its standard error, which is gone with its test."""
    yield
    structlog.reset_defaults()
