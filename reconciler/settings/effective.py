"""Which values are in force, and where does each come from?"""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from reconciler.settings import names
from reconciler.settings.fields import shown
from reconciler.settings.mistakes import hidden
from reconciler.settings.root import Settings
from reconciler.settings.shape import SettingPath, entry, fields, list_of, map_of


@dataclass(frozen=True, slots=True)
class Row:
    """One setting in force. `source` is `default`, `env NAME` or `file PATH, line N`; secrets in `value` are hidden."""

    name: str
    value: str
    source: str


def effective(settings: Settings) -> list[Row]:
    """Every setting in the order of the reference, and every field that a map or a list holds."""
    return [Row(names.in_file(path), hidden(shown(value)), settings.origin(path)) for path, value in _values(settings)]


def _values(settings: Settings) -> Iterator[tuple[SettingPath, object]]:
    for path, field in fields(Settings):
        value = attrgetter(".".join(path))(settings)
        if map_of(field) is not None:
            empty, groups = "{}", list(value.items())
        elif list_of(field) is not None:
            empty, groups = "[]", [(entry(position), group) for position, group in enumerate(value)]
        else:
            yield path, value
            continue
        if not groups:
            yield path, empty
        for key, group in groups:
            for name in type(group).model_fields:
                if name in group.model_fields_set:
                    yield (*path, key, name), getattr(group, name)
