"""How long is "5m"? Durations as people write them, to exact values and back."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_FORM = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")


def parse(value: object) -> object:
    """Seconds as a number or as text, or text such as 90s, 5m, 1h30m, 2d. Anything else is a ValueError.

    Other kinds of objects are left for pydantic to judge.
    """
    if isinstance(value, bool) or (isinstance(value, int | float) and not 0 <= value < 1e9):
        raise ValueError("it is no duration")
    if isinstance(value, int | float):
        return timedelta(seconds=value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _PLAIN.fullmatch(text):
        return parse(float(text))
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise ValueError("it is no duration: write seconds as a number, or a number with d, h, m or s")
    return parse(
        sum(float(part) * factor for part, factor in zip(match.groups(), _SECONDS.values(), strict=True) if part)
    )


def text(value: timedelta) -> str:
    """The shortest exact form that `parse` reads back: 90s is 1m30s."""
    rest = value.total_seconds()
    parts = []
    for unit, factor in _SECONDS.items():
        if unit != "s" and rest >= factor:
            whole, rest = divmod(rest, factor)
            parts.append(f"{whole:g}{unit}")
    if rest or not parts:
        parts.append(f"{rest:g}s")
    return "".join(parts)


Duration = Annotated[timedelta, BeforeValidator(parse)]
