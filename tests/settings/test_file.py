from pathlib import Path

import pytest

from reconciler.settings import file

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Four hundred bytes that mean as many million values."""


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
        ("a: 1\nb: *y\n", "line 2, column 4: an alias"),
        ("capacity: &a {capacity: *a}\n", "line 1, column 11: an anchor"),
        ("&a {capacity: *a}\n", "line 1, column 1: an anchor"),
        ("logs:\n  &key level: debug\n", "line 2, column 3: an anchor"),
        (LAUGHS, "line 1, column 4: an anchor"),
        ("a: !!python/object:os.system {}\n", "line 1, column 4: a tag"),
        ("capacity:\n  margin_mib: !!int abc\n", "line 2, column 15: a tag"),
        ("logs: {level: !!timestamp 2020-99-99}", "a tag"),
        ("server:\n  port: " + "9" * 5000 + "\n", "line 2, column 9: a number of 5000 digits"),
        ("capacity:\n  margin_mib: 010\n", "line 2, column 15: a number starts with zero"),
        ("capacity: {margin_mib: -007}\n", "a number starts with zero"),
        ("capacity: " + "[" * 10_000, "more than 20 levels deep"),
        ("capacity: " + "{a: " * 10_000, "more than 20 levels deep"),
        ("".join(f"{' ' * depth}a:\n" for depth in range(500)), "line 20, column 20: it goes more"),
        ('logs:\n  level: "\\UFFFFFFFF"\n', "line 2: a value that cannot be read"),
        ('logs:\n  level: "\\uD800"\n', "line 2, column 10: half of a surrogate pair"),
        (f"%YAML {'1' * 5000}.1\n---\n", "line 1: a value that cannot be read"),
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


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("30", 30),
        ("-5", -5),
        ("+5", 5),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("0b11", "0b11"),
        ("2020-99-99", "2020-99-99"),
        ("2020-01-01", "2020-01-01"),
        ("=", "="),
        ("<<", "<<"),
        ("'010'", "010"),
        ('"true"', "true"),
        ("'" + "9" * 50 + "'", "9" * 50),
    ],
)
def test_a_value_is_what_it_looks_like(tmp_path: Path, written: str, value: object) -> None:
    """YAML 1.2's core: no base eight or sixty, no dates, no yes and no."""
    tree = file.read(_written(tmp_path, f"group:\n  name: {written}\n")).tree
    assert tree == {"group": {"name": value}}
    group = tree["group"]
    assert isinstance(group, dict)
    assert type(group["name"]) is type(value)


@pytest.mark.parametrize("text", ["server: {port: !!int hunter2}", 'logs: {level: "hunter2\\UFFFFFFFF"}'])
def test_a_refusal_does_not_quote_the_value_either(tmp_path: Path, text: str) -> None:
    with pytest.raises(file.FileFault) as fault:
        file.read(_written(tmp_path, text))
    assert "hunter2" not in str(fault.value)
