"""What is wrong with the settings, and what should somebody do about it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reconciler.settings import names
from reconciler.settings.fields import allowed, default, shown
from reconciler.settings.shape import SettingPath, entry, fields, list_of, map_of

_LONGEST = 80
"""Characters of a wrong value that are worth showing."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, with everything somebody needs to put it right."""

    name: str
    """Both spellings of a setting, or the name of a file or variable."""
    origin: str
    problem: str
    remedy: str
    value: str | None = None
    """As given; None where it must not be shown or there is none."""
    allowed: str = ""

    def __str__(self) -> str:
        lines = [self.name if self.value is None else f"{self.name} = {self.value}", f"given by: {self.origin}"]
        lines += [f"problem:  {self.problem}"] if self.problem else []
        lines += [f"allowed:  {self.allowed}"] if self.allowed else []
        return "\n      ".join([*lines, f"to do:    {self.remedy}"])


class SettingsError(Exception):
    """The settings cannot be used. `mistakes` lists all that was found, not only the first."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        count = len(self.mistakes)
        lines = [f"{count} mistake{'s' if count != 1 else ''} in the settings; nothing was started:"]
        super().__init__("\n".join([*lines, *(f"  - {mistake}" for mistake in self.mistakes)]))


def spelled(path: SettingPath) -> str:
    """A setting in both spellings; a group has only the file's."""
    if len(path) == 1:
        return names.in_file(path)
    return f"{names.in_file(path)} / {names.in_environment(path)}"


def stranger_in_file(section: type[BaseModel], path: SettingPath, origin: str) -> Mistake:
    near = names.meant(names.in_file(path), [names.in_file(known) for known in known_paths(section)])
    return Mistake(names.in_file(path), origin, "there is no such setting", _advice(near))


def stranger_in_environment(section: type[BaseModel], name: str) -> Mistake:
    known = [names.CONFIG, *(names.in_environment(path) for path, _ in fields(section))]
    return Mistake(name, f"env {name}", "there is no such setting", _advice(names.meant(name, known)))


def known_paths(section: type[BaseModel]) -> list[SettingPath]:
    """Every setting; what lies in maps and lists with a star for the key or the place."""
    found: list[SettingPath] = []
    for path, field in fields(section):
        found.append(path)
        inner = map_of(field)
        if inner is not None:
            found += [(*path, "*", name) for name in inner.model_fields]
        listed = list_of(field)
        if listed is not None:
            found += [(*path, "[*]", name) for name in listed.model_fields]
    return found


def _advice(near: str | None) -> str:
    if near is None:
        return "remove it; docs/settings.md and `gpu-reconciler settings` list all names"
    return f"did you mean {near}? If not, remove it"


def from_pydantic(
    section: type[BaseModel], error: ValidationError, origins: Mapping[SettingPath, str]
) -> list[Mistake]:
    """One mistake for each of pydantic's findings, in our words."""
    known = dict(fields(section))
    found = []
    for finding in error.errors(include_url=False):
        path = tuple(entry(part) if isinstance(part, int) else part for part in finding["loc"] if part != "[key]")
        field = _field(known, path)
        why = str(finding.get("ctx", {}).get("error", "")) if finding["type"] == "value_error" else ""
        if "[key]" in finding["loc"]:
            why, field = "it is no instance type's name such as g4dn.xlarge", None
        found.append(
            Mistake(
                name=spelled(path),
                origin=_origin(origins, path),
                problem=why or ("" if field else "a group of settings belongs here"),
                remedy=_remedy(path, field),
                allowed=allowed(field) if field else "",
                value=None if isinstance(finding["input"], Mapping) else hidden(shown(finding["input"])) or '""',
            )
        )
    return found


def _field(known: Mapping[SettingPath, FieldInfo], path: SettingPath) -> FieldInfo | None:
    if path in known:
        return known[path]
    for start, field in known.items():
        inner = map_of(field) or list_of(field)
        if inner is not None and path[: len(start)] == start:
            below = path[len(start) + 1 :]  # after the key or the place
            return inner.model_fields.get(below[0]) if below else None
    return None


def _origin(origins: Mapping[SettingPath, str], path: SettingPath) -> str:
    """Where the value came from; for a group, where the first of its values did; for a part of one, where that did."""
    below = (origin for given, origin in origins.items() if given[: len(path)] == path)
    above = (origins[path[:length]] for length in range(len(path) - 1, 1, -1) if path[:length] in origins)
    return origins.get(path) or next(below, "") or next(above, "default")


def _remedy(path: SettingPath, field: FieldInfo | None) -> str:
    if field is None:
        return "see docs/settings.md for what may stand there"
    example = shown(field.examples[0]) if field.examples else ""
    return f"set it to something like {example}, or remove it for the default ({default(field) or 'empty'})"


def hidden(text: str) -> str:
    """The text with a URL's user and password taken out, and cut to a readable length."""
    if "@" in text:
        try:
            parts = urlsplit(text)
        except ValueError:
            return "(not shown)"
        if "@" in parts.netloc:
            text = parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]).geturl()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
