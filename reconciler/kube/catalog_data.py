"""What does the catalog hold, and how does it change? Pure: the ConfigMap's data in, readings and changes out.

Rule 1: an entry that cannot be read is kept aside under `broken.` when something takes its place, and never lost.
Rule 2: the whole stays under a bound; what EC2 said goes first, oldest first, since it can be asked again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.kube import catalog_entries as entries
from reconciler.kube.catalog_entries import ASKED, BROKEN, LEARNED, Asked
from reconciler.model.fields import FieldError
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import InstanceType

LARGEST = 512 * 1024
"""Bytes of keys and values: half of what a ConfigMap may hold."""

Changes = dict[str, str | None]
"""Keys to new texts; None removes."""


class CatalogFull(Exception):
    """Even without anything that may be dropped there is no room."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All entries that can be read, and why the others cannot."""

    learned: Mapping[InstanceType, LearnedFigure] = field(default_factory=dict)
    asked: Mapping[InstanceType, Asked] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)


def read(data: Mapping[str, str]) -> Reading:
    """Total: a person may have written anything."""
    learned: dict[InstanceType, LearnedFigure] = {}
    asked: dict[InstanceType, Asked] = {}
    unreadable: dict[str, str] = {}
    for key, text in data.items():
        try:
            if key.startswith(LEARNED):
                kind = InstanceType(key.removeprefix(LEARNED))
                learned[kind] = entries.read_learned(kind, text)
            elif key.startswith(ASKED):
                kind = InstanceType(key.removeprefix(ASKED))
                asked[kind] = entries.read_asked(kind, text)
        except FieldError as error:
            unreadable[key] = str(error)
    return Reading(learned, asked, unreadable)


def put(data: Mapping[str, str], new: Mapping[str, str]) -> Changes:
    """The changes that set these entries. Raises CatalogFull."""
    reading = read(data)
    changes: Changes = {}
    for key, text in new.items():
        if data.get(key) == text:
            continue
        if key in reading.unreadable:
            changes |= _aside(data, key)
        changes[key] = text
    return changes | _room({**data, **changes}, keep=new)


def _aside(data: Mapping[str, str], key: str) -> Changes:
    """The broken entry under the first free name; none when the very same text is there already."""
    number = 0
    while True:
        name = BROKEN + key + (f".{number}" if number else "")
        if name not in data:
            return {name: data[key]}
        if data[name] == data[key]:
            return {}
        number += 1


def _room(data: Mapping[str, str | None], keep: Mapping[str, str]) -> Changes:
    """Removals that bring the whole under the bound."""
    texts = {key: text for key, text in data.items() if text is not None}
    excess = sum(len(key.encode()) + len(text.encode()) for key, text in texts.items()) - LARGEST
    if excess <= 0:
        return {}
    reading = read(texts)
    oldest_first = [
        *sorted((asked.at, ASKED + kind) for kind, asked in reading.asked.items()),
        *sorted((figure.at, LEARNED + kind) for kind, figure in reading.learned.items()),
    ]
    dropped: Changes = {}
    for _, key in oldest_first:
        if excess <= 0:
            break
        if key not in keep:
            dropped[key] = None
            excess -= len(key.encode()) + len(texts[key].encode())
    if excess > 0:
        raise CatalogFull(f"the catalog is {excess} bytes over its bound of {LARGEST}, and nothing is left to drop")
    return dropped
