"""What tests of whole processes need of the machine."""

import gc
import socket
from collections.abc import Iterator

import pytest
import structlog
from moto.server import ThreadedMotoServer


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
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A command points the log at its standard error, which is gone with its test."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def moto_url() -> Iterator[str]:
    """A mocked EC2."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
