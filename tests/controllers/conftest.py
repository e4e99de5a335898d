"""Loops are tested on bent time."""

import pytest


@pytest.fixture
def anyio_backend(jumping_clock: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return jumping_clock
