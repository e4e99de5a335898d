"""What every test has: asyncio for doors, and a clock that jumps for loops and queues."""

import pytest
import trio.testing


@pytest.fixture
def anyio_backend() -> str:
    """The backend of doors; tests of backend-free code ask for `jumping_clock`."""
    return "asyncio"


@pytest.fixture
def jumping_clock() -> tuple[str, dict[str, object]]:
    """Trio on a clock that jumps to the next appointment when all tasks wait: an hour passes in no time."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
