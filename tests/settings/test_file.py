from pathlib import Path

import pytest

from reconciler.settings import file


def _written(folder: Path, text: str | bytes) -> Path:
    path = folder / "settings.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_each_value_knows_its_line(tmp_path: Path) -> None:
    content = file.read(
        _written(tmp_path, "# why\ncapacity:\n  margin_mib: 30\n  overrides:\n    g4dn.xlarge: {margin_mib: 1}\n")
    )
    assert content.tree == {"capacity": {"margin_mib": 30, "overrides": {"g4dn.xlarge": {"margin_mib": 1}}}}
    assert content.origin(("capacity", "margin_mib")) == f"file {content.path}, line 3"
    assert content.origin(("capacity", "overrides", "g4dn.xlarge", "margin_mib")).endswith("line 5")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "\ufeff# with a byte order mark\n"])
def test_an_empty_file_gives_nothing(tmp_path: Path, text: str) -> None:
    assert file.read(_written(tmp_path, text)).tree == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("capacity: [", "line 1, column"),
        ("capacity:\n\tmargin_mib: 3\n", "line 2, column 1"),
        ("- capacity\n", "must be a map"),
        ("just words", "must be a map"),
        (b"capacity: \xff\n", "not UTF-8: byte 10 is 0xff"),
        ("server: {port: 1}\nlogs: {}\nserver: {host: x}\n", "gives server twice, in lines 1 and 3"),
        ("server:\n  port: 1\n  port: 2\n", "gives server.port twice, in lines 2 and 3"),
        ("a: &x 1\nb: *y\n", "line 2, column 4"),
        ("a: !!python/object:os.system {}\n", "line 1"),
        ("# " + "x" * 1024 * 1024, "more than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_it_is_wrong(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(file.FileFault) as fault:
        file.read(_written(tmp_path, text))
    assert says in str(fault.value)


def test_a_parsers_complaint_does_not_quote_the_line(tmp_path: Path) -> None:
    """A broken file may hold a secret, and messages end in logs."""
    with pytest.raises(file.FileFault) as fault:
        file.read(_written(tmp_path, "aws:\n  key: 'hunter2\n"))
    assert "hunter2" not in str(fault.value)


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_file_that_is_not_there_is_said_to_be_unreadable(tmp_path: Path, name: str) -> None:
    with pytest.raises(file.FileFault, match="cannot be read"):
        file.read(tmp_path / name)
