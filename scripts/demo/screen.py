"""Who looks? A terminal gets a picture that moves, anything else gets lines; both get the summary."""

import io
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from scripts.demo.telling import Line

FRAME = 0.2
"""Seconds; a frame costs a few milliseconds of the same processor that plays the cluster."""
_WIDTH = 132
_SVG_HEIGHT = 36


class Screen:
    """Standard output. `moving` is whether somebody watches it move."""

    def __init__(self) -> None:
        self._console = Console()
        self.moving = self._console.is_terminal
        if not self.moving:
            self._console = Console(width=_WIDTH)

    def line(self, line: Line) -> None:
        """A sentence, where there is no picture to show it in."""
        if not self.moving:
            self._console.print(Text(f"{line.seconds:5.1f}  {line.text}"), soft_wrap=True)

    @asynccontextmanager
    async def showing(self, picture: Callable[[int, int], RenderableType]) -> AsyncIterator[None]:
        """Show the picture, made anew for each frame, while the context lasts."""
        if not self.moving:
            yield
            return
        with Live(console=self._console, auto_refresh=False, screen=False, transient=False) as live:

            def frame() -> None:
                live.update(picture(self._console.width, self._console.height - 1), refresh=True)

            async with anyio.create_task_group() as group:
                group.start_soon(_every_frame, frame)
                try:
                    yield
                finally:
                    group.cancel_scope.cancel()
                    frame()

    def print(self, what: RenderableType) -> None:
        self._console.print(what, soft_wrap=not self.moving)

    async def pause(self, seconds: float) -> None:
        """Time to read, for those who read while it happens."""
        if self.moving:
            await anyio.sleep(seconds)


async def _every_frame(frame: Callable[[], None]) -> None:
    while True:
        frame()
        await anyio.sleep(FRAME)


def save_svg(picture: Callable[[int, int], RenderableType], path: Path, title: str) -> None:
    """The picture as a file that asks nobody for fonts."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(picture(_WIDTH, _SVG_HEIGHT))
    svg = console.export_svg(title=title)
    path.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
