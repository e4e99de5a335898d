"""What went wrong that nobody waits for? An odd object, a broken watch, a hand-edited entry: told, never raised."""

from collections.abc import Callable
from dataclasses import dataclass
from traceback import extract_tb

from reconciler.model.quoting import quoted


@dataclass(frozen=True, slots=True)
class Trouble:
    """`kind` and `name` say of which object, `why` is a sentence that names the field and what is done about it."""

    kind: str
    name: str
    why: str
    unforeseen: bool = False
    """A mistake of ours met an object that nobody had thought of, and was kept to that object."""


Report = Callable[[Trouble], None]

REMEMBERED = 1000


def unforeseen(kind: str, name: str, error: Exception) -> Trouble:
    """The trouble that an error of ours is, told with its place in the source: there is no traceback besides."""
    places = extract_tb(error.__traceback__)
    place = f" ({places[-1].filename.rpartition('/')[2]}:{places[-1].lineno})" if places else ""
    why = f"{type(error).__name__}: {quoted(str(error))}{place}; this is a mistake of gpu-reconciler: please report it"
    return Trouble(kind, name, f"{why}. What was known of the object stays", unforeseen=True)


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
