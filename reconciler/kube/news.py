"""What does a watch tell? Three words, which a cache takes in order."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Seen(Generic[V]):
    """The object is there, and looks like this."""

    key: str
    view: V


@dataclass(frozen=True, slots=True)
class Vanished:
    """The object is gone, or no longer of interest."""

    key: str


@dataclass(frozen=True, slots=True)
class Synced:
    """All that there is has been told: whatever is not in `present` is gone."""

    present: Set[str]


News = Seen[V] | Vanished | Synced
