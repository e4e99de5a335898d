"""runtime/garbage: what is there is left alone, and cycles are still found."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from reconciler.runtime import garbage


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The other tests of this process get their collector back."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Knot:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_never_looked_at_again() -> None:
    """A full collection has nothing left of what was there before."""
    held = [[number] for number in range(1000)]
    garbage.keep()
    known = {id(tracked) for tracked in gc.get_objects()}
    assert not any(id(one) in known for one in held)


def test_cycles_that_come_later_are_still_freed() -> None:
    """A replica that fails for a week does not fill up with exceptions and their frames."""
    garbage.keep()
    watched = [weakref.ref(Knot()) for _ in range(100)]
    pile: list[list[int]] = [[] for _ in range(garbage.YOUNG + 1)]
    assert pile
    assert not any(ref() for ref in watched)
