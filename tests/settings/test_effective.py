from pathlib import Path

from reconciler.settings.effective import effective
from reconciler.settings.load import load
from reconciler.settings.root import Settings
from reconciler.settings.shape import fields


def test_every_setting_is_shown_with_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("capacity:\n  margin_mib: 30\n  contest_window: 600\n")
    env = {
        "GPU_RECONCILER_LOGS__LEVEL": "debug",
        "GPU_RECONCILER_CAPACITY__MARGIN_MIB": "64",
        "AWS_REGION": "eu-west-1",
    }
    rows = {row.name: (row.value, row.source) for row in effective(load(env, path))}
    assert len(rows) == len(list(fields(Settings)))
    assert rows["capacity.margin_mib"] == ("64", "env GPU_RECONCILER_CAPACITY__MARGIN_MIB")
    assert rows["capacity.contest_window"] == ("10m", f"file {path}, line 3")
    assert rows["logs.level"] == ("debug", "env GPU_RECONCILER_LOGS__LEVEL")
    assert rows["aws.region"] == ("eu-west-1", "env AWS_REGION")
    assert rows["capacity.multi_gpu"] == ("skip", "default")
    assert rows["capacity.overrides"] == ("{}", "default")


def test_each_field_of_an_override_has_a_row_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("capacity:\n  overrides:\n    g4dn.xlarge:\n      mib_per_gpu: 15079\n")
    env = {"GPU_RECONCILER_CAPACITY__OVERRIDES": '{"g4dn.xlarge": {"margin_mib": 0}}'}
    rows = {row.name: (row.value, row.source) for row in effective(load(env, path)) if "g4dn" in row.name}
    assert rows == {
        'capacity.overrides."g4dn.xlarge".mib_per_gpu': ("15079", f"file {path}, line 4"),
        'capacity.overrides."g4dn.xlarge".margin_mib': ("0", "env GPU_RECONCILER_CAPACITY__OVERRIDES"),
    }
