"""How are 150,000 objects written in seconds? One text per template, cut once where the values go."""

import json
import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_MARK = re.compile(rb"@([A-Z]+)@")


class Template:
    """An object whose texts may hold marks such as `@NODE@`."""

    def __init__(self, obj: Json) -> None:
        self._parts = _MARK.split(json.dumps(obj, separators=(",", ":")).encode())
        self._marks = [mark.decode() for mark in self._parts[1::2]]

    def fill(self, values: Mapping[str, str]) -> bytes:
        """The object's JSON with the values in place of the marks."""
        parts = list(self._parts)
        parts[1::2] = [values[mark].encode() for mark in self._marks]
        return b"".join(parts)
