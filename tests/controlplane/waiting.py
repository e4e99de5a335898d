"""How does a test wait for a program that says nothing when it is done?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(question: Callable[[], T | None], what: str, seconds: float = 20.0, every: float = 0.05) -> T:
    """Ask until the answer is true, and return it.

    An `AssertionError` in the question is a "not yet" too. Raises `AssertionError` with `what` and the last answer
    after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        last: object
        try:
            answer = question()
            if answer:
                return answer
            last = answer
        except AssertionError as refusal:
            last = refusal
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what} (last: {last!r})")
        time.sleep(every)


def never(question: Callable[[], object], what: str, seconds: float, every: float = 0.2) -> None:
    """Ask for `seconds` and insist that the answer stays false."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = question()
        assert not answer, f"{what}: {answer!r}"
        time.sleep(every)
