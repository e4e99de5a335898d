"""The pages: links lead somewhere, and files, commands, options and settings that they name are there."""

import re
from pathlib import Path

import pytest
import typer.main

from reconciler import cli
from reconciler.settings import names
from reconciler.settings.effective import effective
from reconciler.settings.load import load
from reconciler.settings.root import Settings
from reconciler.settings.shape import fields
from tests.deploy.objects import ROOT
from tests.deploy.pages import Page, pages

PAGES = pages()
SETTINGS = {names.in_file(path) for path, _ in fields(Settings)}
SECTIONS = {name.partition(".")[0] for name in SETTINGS}
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined] # a Group: there are several commands

_PATH = re.compile(
    r"^(?:reconciler|tests|deploy|infra|scripts|docs|controllers|app|decide|kube|model|runtime|sandbox)/\S*$"
)
_CALL = re.compile(r"(?:^|\| |-- )gpu-reconciler (?P<command>[a-z][a-z-]*)(?P<rest>[^|#]*)")


def calls(page: Page) -> list[tuple[str, list[str]]]:
    """Every call of the program on the page: the command, and its options."""
    said = [match for text in (*page.spans, *page.lines_of_code) for match in _CALL.finditer(text)]
    return [(match["command"], re.findall(r"(?<=\s)--[a-z-]+", match["rest"])) for match in said]


def test_the_pages_are_found() -> None:
    assert {"README.md", "docs/sharing.md", "deploy/manifests/README.md"} <= {str(page) for page in PAGES}
    assert sum(len(page.links) for page in PAGES) > 50
    assert sum(len(calls(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_its_links_lead_somewhere(page: Page) -> None:
    broken = []
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue  # the outside world, where no test looks
        place, _, anchor = link.partition("#")
        target = (page.file.parent / place).resolve() if place else page.file
        if not target.exists() or (anchor and anchor not in Page(target).anchors):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_files_that_it_names_are_there(page: Page) -> None:
    """From the root, from the page's own folder, or a room of the package."""
    bases = (ROOT, ROOT / "reconciler", page.file.parent)
    named = [span for span in page.spans if _PATH.match(span) and not re.search(r"[<>*{}A-Z]|:\d", Path(span).stem)]
    assert [span for span in named if not any((base / span.rstrip("/")).exists() for base in bases)] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_settings_that_it_names_are_settings(page: Page) -> None:
    """The name alone, or with a value: `karpenter.overlays: write`."""
    said = [re.match(r"^([a-z]+)\.([a-z_]+)(?:$|:|=)", span) for span in page.spans]
    named = [f"{one[1]}.{one[2]}" for one in said if one is not None and one[1] in SECTIONS]
    files = {"yaml", "yml", "py", "json", "md"}
    assert [name for name in named if name not in SETTINGS and name.partition(".")[2] not in files] == []


def examples() -> list[tuple[str, str]]:
    """Blocks of YAML that begin with a section of the settings, and the page they are on."""
    return [(str(page), block) for page in PAGES for block in page.yaml if block.partition(":")[0] in SECTIONS]


@pytest.mark.parametrize(("page", "block"), examples(), ids=lambda text: text.partition("\n")[0])
def test_settings_that_it_shows_are_taken(page: str, block: str, tmp_path: Path) -> None:
    """By the loader of the real thing, which refuses what it does not know."""
    file = tmp_path / "settings.yaml"
    file.write_text(block)
    assert any(row.source.startswith("file ") for row in effective(load({}, file))), page


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_and_options_that_it_shows_are_there(page: Page) -> None:
    for command, options in calls(page):
        assert command in COMMANDS, f"gpu-reconciler {command}"
        known = {name for one in COMMANDS[command].params for name in (*one.opts, *one.secondary_opts)}
        assert set(options) <= known | {"--help"}, f"gpu-reconciler {command}"
