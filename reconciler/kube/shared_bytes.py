"""How are sub-trees that many objects have in common kept once? By their bytes, in a table that stays bounded."""

from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class Shared(Generic[V]):
    """Bytes to the value decoded from them.

    Two generations bound the table: what is asked for moves to the young one, and when that is full the old one is
    forgotten. Forgetting costs a second copy at worst, never a wrong value; so live data needs no bookkeeping.
    """

    def __init__(self, decode: Callable[[bytes], V], generation: int = 20_000) -> None:
        self._decode = decode
        self._generation = generation
        self._young: dict[bytes, V] = {}
        self._old: dict[bytes, V] = {}

    def get(self, key: bytes) -> V:
        young = self._young
        if key in young:
            return young[key]
        value = self._old.pop(key) if key in self._old else self._decode(key)
        if len(young) >= self._generation:
            self._old, self._young = young, {}
        self._young[key] = value
        return value

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
