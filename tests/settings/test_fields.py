"""Every setting says what it means, in which unit and bounds, and shows an example that holds."""

from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reconciler.settings.fields import allowed, shown
from reconciler.settings.root import Settings
from reconciler.settings.shape import SettingPath, entry, fields, is_entry, list_of, map_of, section_of, tree_of


def _every() -> list[tuple[SettingPath, FieldInfo]]:
    found = list(fields(Settings))
    for path, field in list(found):
        inner = map_of(field)
        if inner is not None:
            found += [((*path, "g4dn.xlarge", *below), deeper) for below, deeper in fields(inner)]
        listed = list_of(field)
        if listed is not None:
            found += [((*path, entry(0), *below), deeper) for below, deeper in fields(listed)]
    return found


RESULTS = {"sharing", "replicas", "memory_per_slice", "profile"}


def _built(path: SettingPath, value: object) -> Settings:
    """Settings with this value, and with what an entry of a list must say besides."""
    values = {path: value}
    if any(is_entry(part) for part in path) and path[-1] not in RESULTS:
        values[*path[:-1], "memory_per_slice"] = "4Gi"
    return Settings.built(tree_of(values), {})


EVERY = _every()


def _named(param: object) -> str:
    return ".".join(param) if isinstance(param, tuple) else ""


def _path(place: tuple[int | str, ...]) -> SettingPath:
    return tuple(entry(part) if isinstance(part, int) else part for part in place)


def _kinds(field: FieldInfo) -> tuple[Any, ...]:
    return (field.annotation, *get_args(field.annotation))


@pytest.mark.parametrize(("path", "field"), EVERY, ids=_named)
def test_a_setting_has_a_meaning_that_is_a_sentence(path: SettingPath, field: FieldInfo) -> None:
    meaning = field.description or ""
    assert meaning.endswith("."), path
    assert len(meaning) > 15


@pytest.mark.parametrize(("path", "field"), EVERY, ids=_named)
def test_a_settings_example_is_one_that_is_taken(path: SettingPath, field: FieldInfo) -> None:
    assert field.examples
    example = field.examples[0]
    _built(path, example)


@pytest.mark.parametrize(("path", "field"), EVERY, ids=_named)
def test_a_number_has_both_bounds_and_a_unit(path: SettingPath, field: FieldInfo) -> None:
    kinds = _kinds(field)
    if get_origin(field.annotation) is Literal or not {int, float, timedelta} & set(kinds):
        assert allowed(field), path
        return
    rules = field.metadata
    assert any(hasattr(rule, "ge") for rule in rules), path
    assert any(hasattr(rule, "le") for rule in rules), path
    said = allowed(field)
    assert " from " in said
    if timedelta not in kinds and path != ("server", "port"):
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        assert extra["unit"], path


@pytest.mark.parametrize(("path", "field"), EVERY, ids=_named)
def test_what_lies_outside_the_bounds_is_refused(path: SettingPath, field: FieldInfo) -> None:
    for side, step in (("ge", -1), ("le", 1)):
        bound = next((getattr(rule, side) for rule in field.metadata if hasattr(rule, side)), None)
        if bound is None:
            continue
        outside = bound + (timedelta(milliseconds=step) if isinstance(bound, timedelta) else step)
        with pytest.raises(ValidationError) as refused:
            _built(path, outside)
        assert path in [_path(fault["loc"]) for fault in refused.value.errors()]


def test_every_setting_lies_in_a_group_so_that_its_variable_has_two_parts() -> None:
    assert all(len(path) == 2 for path, _ in fields(Settings))
    assert all(section_of(field) is not None for field in Settings.model_fields.values())


def test_settings_cannot_be_changed() -> None:
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.capacity.margin_mib = 5
    with pytest.raises(ValidationError, match="frozen"):
        settings.capacity = settings.capacity


def test_building_settings_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only load reads variables, so that nothing comes in unseen."""
    monkeypatch.setenv("GPU_RECONCILER_CAPACITY__MARGIN_MIB", "77")
    assert Settings().capacity.margin_mib == 0


class _Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (timedelta(seconds=90), "1m30s"),
        (_Colour.RED, "red"),
        (5.0, "5"),
        (Path("/etc/x"), "/etc/x"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, text: str) -> None:
    assert shown(value) == text


def test_every_group_says_what_it_is_about() -> None:
    groups: list[type[BaseModel]] = [group for field in Settings.model_fields.values() if (group := section_of(field))]
    assert all((group.__doc__ or "").endswith(".") for group in groups)
