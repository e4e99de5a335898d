"""What do our pages say? Every Markdown page that people read, with its headings, links and code spans."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.objects import ROOT

_FOLDERS = ("docs", "deploy", "infra", "tests")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Page:
    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text()

    @property
    def prose(self) -> str:
        """Without blocks of code."""
        return _FENCE.sub("", self.text)

    @property
    def anchors(self) -> set[str]:
        """As GitHub makes them of headings: lower case, words joined by hyphens, without other signs."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    @property
    def links(self) -> Sequence[str]:
        return _LINK.findall(self.prose)

    @property
    def spans(self) -> Sequence[str]:
        """What is written as code within a line."""
        return _SPAN.findall(self.prose)

    @property
    def yaml(self) -> Sequence[str]:
        """Its blocks of YAML."""
        return re.findall(r"^```yaml\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)

    @property
    def lines_of_code(self) -> Sequence[str]:
        """The lines of its blocks of code, without those blocks' fences."""
        blocks = [match[0].splitlines()[1:-1] for match in _FENCE.finditer(self.text)]
        return [line for block in blocks for line in block]

    def __str__(self) -> str:
        return str(self.file.relative_to(ROOT))


def _anchor(heading: str) -> str:
    bare = re.sub(r"[^\w\- ]", "", heading.lower())
    return bare.replace(" ", "-")


def pages() -> list[Page]:
    """The root's pages and those of the folders that people read."""
    return sorted(_found(), key=str)


def _found() -> Iterator[Page]:
    yield from (Page(file) for file in ROOT.glob("*.md"))
    for folder in _FOLDERS:
        yield from (Page(file) for file in (ROOT / folder).rglob("*.md"))
