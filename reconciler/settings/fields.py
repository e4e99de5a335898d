"""What does a single setting carry besides its value? Meaning, unit, bounds, example: for errors and the reference."""

import json
from datetime import timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from reconciler.settings import duration

Bound = int | float | timedelta


class Section(BaseModel):
    """A group of settings about one subject."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False, str_strip_whitespace=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _as_people_mean_it(cls, value: object, info: ValidationInfo) -> object:
        field = cls.model_fields[info.field_name or ""]
        if value == "" and NoneType in get_args(field.annotation):
            return None  # templates render a value that is not there as empty text
        kinds = (field.annotation, *get_args(field.annotation))
        if isinstance(value, bool) and bool not in kinds and (int in kinds or float in kinds):
            raise ValueError("it is true or false where a number belongs")
        if bool in kinds and not isinstance(value, bool) and str(value).lower() not in ("true", "false"):
            raise ValueError("it is neither true nor false")  # pydantic would take yes, on, t and 1 as well
        return value


def knob(
    default: object,
    meaning: str,
    *,
    example: object,
    unit: str = "",
    ge: Bound | None = None,
    le: Bound | None = None,
    pattern: str | None = None,
    allowed: str = "",
) -> Any:
    """One setting. `allowed` says in words what type and bounds alone cannot say.

    The result is Any because pydantic's own Field is: the annotation beside it is what mypy checks.
    """
    return Field(
        default=default,
        description=meaning,
        examples=[example],
        ge=ge,
        le=le,
        pattern=pattern,
        json_schema_extra={"unit": unit, "allowed": allowed},
    )


def _extra(field: FieldInfo, key: str) -> str:
    extra = field.json_schema_extra
    return str(extra.get(key, "")) if isinstance(extra, dict) else ""


def allowed(field: FieldInfo) -> str:
    """The values a setting may have, in words."""
    said = _extra(field, "allowed")
    return said or _kind(field.annotation, _bounds(field), _extra(field, "unit"))


def _bounds(field: FieldInfo) -> str:
    low, high = (
        next((shown(getattr(rule, side)) for rule in field.metadata if hasattr(rule, side)), None)
        for side in ("ge", "le")
    )
    match (low, high):
        case (None, None):
            return ""
        case (_, None):
            return f" from {low}"
        case (None, _):
            return f" up to {high}"
        case _:
            return f" from {low} to {high}"


def _kind(annotation: Any, bounds: str, unit: str) -> str:
    """The type in words. Annotations are what Python's typing makes them, hence Any."""
    if get_origin(annotation) in (Union, UnionType):
        inner = next(part for part in get_args(annotation) if part is not NoneType)
        return f"{_kind(inner, bounds, unit)}, or empty"
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(str(choice.value) for choice in annotation)
    of_unit = f" {unit}" if unit else ""
    if annotation is bool:
        return "true or false"
    if annotation is int:
        return f"a whole number{bounds}{of_unit}"
    if annotation is float:
        return f"a number{bounds}{of_unit}"
    if annotation is timedelta:
        return f"a duration{bounds} (seconds, or text such as 90s, 5m, 1h)"
    return {dict: "a map", tuple: "a list"}.get(get_origin(annotation), "text")


def default(field: FieldInfo) -> str:
    """The value in force when nobody gives one, as text; empty for none."""
    return shown(field.get_default(call_default_factory=True, validated_data={}))


def shown(value: object) -> str:
    """A value as a person would write it in the file; empty for none."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case timedelta():
            return duration.text(value)
        case Enum():
            return str(value.value)
        case dict() | list() | tuple():
            return json.dumps(value)
        case float():
            return f"{value:g}"
        case _:
            return str(value)
