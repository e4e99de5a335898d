"""What went wrong that nobody waits for? An odd object, a broken watch, a hand-edited entry: told, never raised."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """`kind` and `name` say of which object, `why` is a sentence that names the field and what is done about it."""

    kind: str
    name: str
    why: str


Report = Callable[[Trouble], None]

REMEMBERED = 1000


class Once:
    """Passes each trouble on once: an odd object is odd again with each of its events, and is not news."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: dict[Trouble, None] = {}

    def __call__(self, trouble: Trouble) -> None:
        if trouble in self._told:
            return
        if len(self._told) >= REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[trouble] = None
        self._report(trouble)
