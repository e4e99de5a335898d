"""What the probe's tests share: one built library, in this process and for others."""

import ctypes
from pathlib import Path

import pytest

from tests.probe import double


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return double.built(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def loaded(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The double in this process: pynvml's own loading of libnvidia-ml.so.1 is then satisfied by its soname."""
    ctypes.CDLL(str(library))
    return monkeypatch
