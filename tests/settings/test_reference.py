from pathlib import Path

import yaml

from reconciler.settings import names, reference
from reconciler.settings.load import load
from reconciler.settings.root import Settings
from reconciler.settings.shape import fields

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_in_docs_is_up_to_date() -> None:
    assert PAGE.read_text() == reference.page(), "run scripts/docs"


def test_the_page_names_every_setting_in_both_spellings() -> None:
    page = reference.page()
    for path, _ in fields(Settings):
        assert f"`{names.in_file(path)}`" in page
        assert f"`{names.in_environment(path)}`" in page


def test_the_pages_two_examples_are_taken_and_mean_the_same(tmp_path: Path) -> None:
    page = reference.page()
    text = page.split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(text)
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    lines = page.split("```sh\n")[1].split("```")[0].splitlines()
    env = {name: value.strip("'") for name, _, value in (line.partition("=") for line in lines)}
    assert load({}, file).model_dump() == load(env).model_dump()
