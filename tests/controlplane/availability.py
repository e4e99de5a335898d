"""Which programs does a run of the tests need, and what is said of the tests whose programs are not to be had?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.controlplane import programs

Needs = Callable[[pytest.Item], bool]


@dataclass(slots=True)
class Availability:
    """What one run found out: the folders that are there, and the tests that cannot run.

    `needs` says for each source which tests need it.
    """

    needs: dict[programs.Source, Needs]
    found: dict[programs.Source, programs.Programs] = field(default_factory=dict)
    missing: dict[programs.Source, tuple[int, str]] = field(default_factory=dict)

    def look(self, items: Sequence[pytest.Item]) -> None:
        """Look for what these tests need, without building anything. A test counts for the first source it lacks."""
        for source in self.needs:
            wanting = [item for item in items if self.needs[source](item) and self.not_run(item) is None]
            match programs.find(source) if wanting else None:
                case programs.Unavailable(because):
                    self.missing[source] = (len(wanting), because)
                case programs.Programs() as there:
                    self.found[source] = there
                case programs.Buildable() | None:
                    pass

    def build(self, items: Sequence[pytest.Item]) -> None:
        """Build what these tests need and nobody has built yet."""
        for source in self.needs:
            known = source in self.found or source in self.missing
            if not known and any(self.needs[source](item) for item in items):
                self.found[source] = programs.build(source)

    def not_run(self, item: pytest.Item) -> str | None:
        """Why this test cannot run, if so."""
        return next((because for source, (_, because) in self.missing.items() if self.needs[source](item)), None)

    def told(self) -> list[tuple[str, str]]:
        """For each source that is missing, a title and a sentence."""
        return [
            (f"{source.title}: NOT RUN", f"{count} tests on a {source.title} were NOT RUN: {because}")
            for source, (count, because) in self.missing.items()
        ]


def promised() -> bool:
    """Whether it is promised that everything runs: then a test that cannot run is a failure."""
    return os.environ.get("CI") == "true"
