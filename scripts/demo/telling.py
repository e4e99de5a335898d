"""What is said, and was it so? Sentences with their times, and claims that were looked at."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence. `seconds` since the story began; `style` is rich's."""

    seconds: float
    text: str
    style: str = ""


@dataclass(slots=True)
class Telling:
    """`heard` gets each line as it comes."""

    heard: Callable[[Line], None] = lambda line: None
    lines: list[Line] = field(default_factory=list)
    kept: int = 0
    """Claims that were true."""
    broken: list[str] = field(default_factory=list)
    """Claims that were not, with what was instead."""
    _began: float = field(default_factory=anyio.current_time)

    @property
    def seconds(self) -> float:
        return anyio.current_time() - self._began

    def say(self, text: str, style: str = "") -> None:
        self.lines.append(Line(self.seconds, text, style))
        self.heard(self.lines[-1])

    def chapter(self, text: str) -> None:
        self.say(text, "bold cyan")

    def claim(self, so: bool, sentence: str, instead: object = "") -> None:
        """Say it with a tick if it is so; else with what is `instead`, and the demo fails in the end."""
        if so:
            self.kept += 1
            self.say(f"✓ {sentence}", "green")
        else:
            self.broken.append(f"{sentence} (instead: {instead})" if instead != "" else sentence)
            self.say(f"✗ NOT SO: {self.broken[-1]}", "bold red")
