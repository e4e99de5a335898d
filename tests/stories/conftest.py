"""Stories are told without the controller's own log; what it says is heard by the replica (see replica.py)."""

import io
from collections.abc import Iterator

import pytest
import structlog

from reconciler.runtime import logs


@pytest.fixture(autouse=True)
def _unlogged() -> Iterator[None]:
    logs.configure("json", "error", io.StringIO())
    yield
    structlog.reset_defaults()
