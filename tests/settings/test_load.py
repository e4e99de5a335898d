"""Settings as people give them: variables and a file, right and wrong."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.model.policy import MultiGpu
from reconciler.settings.load import load
from reconciler.settings.mistakes import Mistake, SettingsError
from reconciler.settings.root import Settings


def _mistakes(env: dict[str, str], config: Path | None = None) -> tuple[Mistake, ...]:
    with pytest.raises(SettingsError) as error:
        load(env, config)
    return error.value.mistakes


def _values(settings: Settings) -> dict[str, object]:
    """Without the memory of where they came from."""
    return settings.model_dump()


def _one(env: dict[str, str], config: Path | None = None) -> Mistake:
    (mistake,) = _mistakes(env, config)
    return mistake


def _file(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_nothing_given_means_every_default() -> None:
    assert _values(load({})) == _values(Settings())


def test_variables_and_file_are_joined_and_the_variable_wins(tmp_path: Path) -> None:
    path = _file(tmp_path, "capacity:\n  margin_mib: 30\n  multi_gpu: sum\nprobe:\n  deadline: 90\n")
    settings = load({"GPU_RECONCILER_CAPACITY__MARGIN_MIB": "64", "GPU_RECONCILER_LOGS__FORMAT": "console"}, path)
    assert settings.capacity.margin_mib == 64
    assert settings.capacity.multi_gpu is MultiGpu.SUM
    assert settings.probe.deadline == timedelta(seconds=90)
    assert settings.logs.format == "console"


def test_the_file_is_named_by_a_variable_and_the_argument_wins(tmp_path: Path) -> None:
    path = _file(tmp_path, "capacity: {margin_mib: 30}")
    other = tmp_path / "other.yaml"
    other.write_text("capacity: {margin_mib: 31}")
    assert load({"GPU_RECONCILER_CONFIG": str(path)}).capacity.margin_mib == 30
    assert load({"GPU_RECONCILER_CONFIG": str(path)}, other).capacity.margin_mib == 31


def test_overrides_come_from_both_and_are_joined_by_field(tmp_path: Path) -> None:
    path = _file(tmp_path, "capacity:\n  overrides:\n    g4dn.xlarge: {mib_per_gpu: 15000, margin_mib: 1}\n")
    settings = load(
        {"GPU_RECONCILER_CAPACITY__OVERRIDES": '{"g4dn.xlarge": {"margin_mib": 2}, "g5.xlarge": {"margin_mib": 3}}'},
        path,
    )
    overrides = settings.capacity.overrides
    assert (overrides["g4dn.xlarge"].mib_per_gpu, overrides["g4dn.xlarge"].margin_mib) == (15000, 2)
    assert overrides["g5.xlarge"].margin_mib == 3


@pytest.mark.parametrize("text", ["capacity:\n", "capacity: {}\n", "capacity:\n  overrides:\n", "aws: {region: }\n"])
def test_an_empty_group_or_an_empty_optional_value_gives_nothing(tmp_path: Path, text: str) -> None:
    assert _values(load({}, _file(tmp_path, text))) == _values(Settings())


def test_empty_text_means_not_set_where_a_value_may_be_missing() -> None:
    """Templates render a value that is not there as empty text."""
    settings = load({"GPU_RECONCILER_AWS__REGION": "", "GPU_RECONCILER_PROBE__RUNTIME_CLASS": ""})
    assert settings.aws.region is None
    assert settings.probe.runtime_class is None


@pytest.mark.parametrize(
    ("env", "region"),
    [
        ({"AWS_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "us-east-1"}, "us-east-1"),
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"}, "eu-west-1"),
        ({"AWS_REGION": "eu-west-1", "GPU_RECONCILER_AWS__REGION": "us-gov-west-1"}, "us-gov-west-1"),
        ({"AWS_REGION": ""}, None),
    ],
)
def test_well_known_variables_count_where_ours_is_not_set(env: dict[str, str], region: str | None) -> None:
    assert load(env).aws.region == region


def test_variables_of_others_are_none_of_our_business() -> None:
    assert _values(load({"PATH": "/bin", "GPU_COUNT": "3", "gpu_reconciler_x": "1"})) == _values(Settings())


def test_what_the_kubelet_sets_for_a_service_of_ours_is_no_mistake() -> None:
    links = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_METRICS", "PORT", "PORT_8080_TCP", "PORT_8080_TCP_ADDR"]
    links += ["METRICS_SERVICE_HOST", "METRICS_PORT_8080_TCP_PROTO"]
    assert _values(load({f"GPU_RECONCILER_{link}": "10.0.0.1" for link in links})) == _values(Settings())


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("GPU_RECONCILER_CAPACITY_MARGIN_MIB", "GPU_RECONCILER_CAPACITY__MARGIN_MIB"),
        ("GPU_RECONCILER_CAPACITY__MARGINMIB", "GPU_RECONCILER_CAPACITY__MARGIN_MIB"),
        ("GPU_RECONCILER_MARGIN_MIB", "GPU_RECONCILER_CAPACITY__MARGIN_MIB"),
        ("GPU_RECONCILER_RUNTIME_CLASS", "GPU_RECONCILER_PROBE__RUNTIME_CLASS"),
        ("GPU_RECONCILER_LOG__LEVEL", "GPU_RECONCILER_LOGS__LEVEL"),
        ("GPU_RECONCILER_CONFIGS", "GPU_RECONCILER_CONFIG"),
        ("GPU_RECONCILER_capacity__margin_mib", "GPU_RECONCILER_CAPACITY__MARGIN_MIB"),
        ("GPU_RECONCILER_ZEBRA", None),
        ("GPU_RECONCILER_SERVER", None),
    ],
)
def test_an_unknown_variable_stops_with_the_one_that_was_meant(wrong: str, meant: str | None) -> None:
    mistake = _one({wrong: "hunter2"})
    assert mistake.name == wrong
    assert mistake.problem == "there is no such setting"
    assert (f"did you mean {meant}?" in mistake.remedy) is (meant is not None)
    assert "hunter2" not in str(mistake), "it may be a secret that went astray"


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("capacity: {margin: 3}", "capacity.margin", "capacity.margin_mib"),
        ("margin_mib: 3", "margin_mib", "capacity.margin_mib"),
        ("capacity:\n  overrides:\n    g5.xlarge: {mib: 3, margin_mib: 1}", 'capacity.overrides."g5.xlarge".mib', None),
        ("zebra: {stripes: 3}", "zebra", None),
    ],
)
def test_an_unknown_name_in_the_file_stops_with_its_line(
    tmp_path: Path, text: str, name: str, meant: str | None
) -> None:
    mistake = _one({}, _file(tmp_path, text))
    assert mistake.name == name
    assert f"line {text.count(chr(10)) + 1}" in mistake.origin
    assert (f"did you mean {meant}?" in mistake.remedy) is (meant is not None)


@pytest.mark.parametrize(
    ("group", "field", "value", "says"),
    [
        ("capacity", "margin_mib", "-5", "from 0 to 1048576 MiB"),
        ("capacity", "margin_mib", "many", "a whole number"),
        ("capacity", "margin_mib", "1.5", "a whole number"),
        ("capacity", "margin_mib", "", "a whole number"),
        ("capacity", "margin_percent", "nan", "from 0 to 50 percent"),
        ("capacity", "margin_percent", "inf", "from 0 to 50 percent"),
        ("capacity", "multi_gpu", "all", "one of skip, sum, largest"),
        ("capacity", "existing_value", "fight", "one of take, leave"),
        ("capacity", "resource", "gpu-memory", "no domain"),
        ("capacity", "resource", "nvidia.com/gpu", "same as capacity.resource"),
        ("capacity", "contest_window", "soon", "a duration from 1m to 1d"),
        ("probe", "enabled", "perhaps", "true or false"),
        ("probe", "enabled", "yes", "neither true nor false"),
        ("kubernetes", "watch_silence", "1m", "a duration from 1m5s"),
        ("probe", "image", "two words", "without spaces"),
        ("probe", "pull_policy", "Sometimes", "one of IfNotPresent, Always, Never"),
        ("probe", "runtime_class", "NVIDIA", "object's name"),
        ("probe", "memory", "64Mb", "a Kubernetes quantity"),
        ("probe", "cpu", "0", "above zero"),
        ("probe", "user", "0", "from 1 to"),
        ("kubernetes", "namespace", "My.Space", "a namespace's name"),
        ("aws", "region", "Ireland", "such as eu-west-1"),
        ("aws", "role_arn", "gpu-reconciler", "a role's ARN"),
        ("aws", "endpoint_url", "ec2.eu-west-1", "http or https URL"),
        ("leader", "renew_deadline", "15s", "less than leader.lease_duration (15s)"),
        ("leader", "retry_period", "6s", "half of leader.renew_deadline (10s)"),
        ("server", "port", "65536", "from 0 to 65535"),
        ("logs", "format", "xml", "one of json, console"),
        ("work", "workers", "0", "from 1 to 64"),
    ],
)
def test_a_wrong_value_names_both_spellings_where_it_was_given_and_what_to_do(
    tmp_path: Path, group: str, field: str, value: str, says: str
) -> None:
    variable = f"GPU_RECONCILER_{group}__{field}".upper()
    for env, config, origin in (
        ({variable: value}, None, f"env {variable}"),
        ({}, _file(tmp_path, f"{group}:\n  {field}: '{value}'\n"), "line 2"),
    ):
        text = str(_mistakes(env, config)[0])
        assert says in text
        if "capacity.resource:" not in text:  # told at the second of two that must differ
            assert f"{group}.{field} / {variable} = {value or chr(34) * 2}" in text
            assert origin in text
        assert "set it to something like" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("capacity: 5", "a group of settings belongs here"),
        ("capacity: {margin_mib: true}", "true or false where a number belongs"),
        ("capacity: {margin_mib: yes}", "a whole number"),
        ("probe: {enabled: yes}", "it is neither true nor false"),
        ("probe: {enabled: on}", "it is neither true nor false"),
        ("probe: {enabled: 1}", "it is neither true nor false"),
        ("probe: {retry: 1:30}", "it is no duration: write seconds as a number"),
        ("logs: {level: 2020-99-99}", "one of debug, info, warning, error"),
        ("capacity: {margin_mib: [1]}", "a whole number"),
        ("capacity: {margin_mib: {a: 1}}", "a whole number"),
        ("capacity: {contest_window: off}", "a duration"),
        ("kubernetes: {context: 12}", "text"),
        ("capacity: {overrides: 5}", "a map"),
        ("capacity: {overrides: {big: {margin_mib: 1}}}", "no instance type's name"),
        ("capacity: {overrides: {g5.xlarge: }}", "says nothing about the type"),
        ("capacity: {overrides: {g5.xlarge: {margin_mib: true}}}", "true or false where a number belongs"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_words(tmp_path: Path, text: str, says: str) -> None:
    assert says in str(_one({}, _file(tmp_path, text)))


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_true_may_be_written_as_templates_write_it(value: str) -> None:
    assert load({"GPU_RECONCILER_PROBE__SYS_ADMIN": value}).probe.sys_admin is True


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("15", "no JSON object"),
        ("[" * 100_000, "goes too deep"),
        ("9" * 5000, "no JSON"),
    ],
)
def test_a_map_in_a_variable_must_be_a_json_object(value: str, says: str) -> None:
    assert says in str(_one({"GPU_RECONCILER_CAPACITY__OVERRIDES": value}))


def test_an_unknown_name_inside_a_variables_map_is_refused() -> None:
    mistake = _one({"GPU_RECONCILER_CAPACITY__OVERRIDES": '{"g5.xlarge": {"margin": 1, "margin_mib": 1}}'})
    assert mistake.origin == "env GPU_RECONCILER_CAPACITY__OVERRIDES"
    assert mistake.name == 'capacity.overrides."g5.xlarge".margin'


def test_all_mistakes_of_file_and_variables_are_told_at_once(tmp_path: Path) -> None:
    path = _file(tmp_path, "capacity:\n  margin: 3\n  margin_mib: -1\nserver: 8080\n")
    error = _mistakes({"GPU_RECONCILER_ZEBRA": "1", "GPU_RECONCILER_PROBE__TTL": "soon"}, path)
    assert len(error) == 5
    assert str(SettingsError(error)).startswith("5 mistakes in the settings; nothing was started:\n  - ")


def test_a_file_that_cannot_be_read_is_told_beside_the_other_mistakes(tmp_path: Path) -> None:
    told = _mistakes({"GPU_RECONCILER_ZEBRA": "1", "GPU_RECONCILER_CONFIG": str(tmp_path / "absent.yaml")})
    assert [mistake.name for mistake in told] == [f"settings file {tmp_path}/absent.yaml", "GPU_RECONCILER_ZEBRA"]
    assert told[0].origin == "named by env GPU_RECONCILER_CONFIG"


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    text = str(_one({"GPU_RECONCILER_AWS__ENDPOINT_URL": "https://me:hunter2@ec2.example.com"}))
    assert "hunter2" not in text
    assert "https://***@ec2.example.com" in text


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    assert len(str(_one({"GPU_RECONCILER_LOGS__LEVEL": "x" * 10_000}))) < 500
