"""The list of rules for sharing, in the file and in the environment, right and wrong."""

from pathlib import Path

import pytest

from reconciler.settings.effective import effective
from reconciler.settings.load import load
from reconciler.settings.mistakes import Mistake, SettingsError

VARIABLE = "GPU_RECONCILER_SLICING__RULES"
RULES = """\
slicing:
  rules:
    - name: dev
      node_pools: [dev]
      memory_per_slice: 4Gi
    - sharing: exclusive
"""


def _mistakes(env: dict[str, str], config: Path | None = None) -> tuple[Mistake, ...]:
    with pytest.raises(SettingsError) as error:
        load(env, config)
    return error.value.mistakes


def _file(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_rules_keep_their_order_and_each_field_has_a_row_with_its_line(tmp_path: Path) -> None:
    path = _file(tmp_path, RULES)
    settings = load({}, path)

    assert [rule.name for rule in settings.slicing.rules] == ["dev", None]
    rows = {row.name: (row.value, row.source) for row in effective(settings) if row.name.startswith("slicing.rules")}
    assert rows == {
        "slicing.rules[0].name": ("dev", f"file {path}, line 3"),
        "slicing.rules[0].node_pools": ('["dev"]', f"file {path}, line 4"),
        "slicing.rules[0].memory_per_slice": ("4Gi", f"file {path}, line 5"),
        "slicing.rules[1].sharing": ("exclusive", f"file {path}, line 6"),
    }


@pytest.mark.parametrize(
    ("text", "count"), [('[{"replicas": 4}]', 1), ("[]", 0), ("", 2)], ids=["shorter", "empty", "nothing"]
)
def test_a_list_in_the_environment_replaces_the_files_as_a_whole(tmp_path: Path, text: str, count: int) -> None:
    """Rules of two lists put together by their places would be rules that nobody wrote."""
    settings = load({VARIABLE: text}, _file(tmp_path, RULES))

    assert len(settings.slicing.rules) == count
    if count == 1:
        assert settings.slicing.rules[0].replicas == 4
        assert settings.slicing.rules[0].name is None


def test_a_list_in_the_environment_also_replaces_what_is_no_list_in_the_file(tmp_path: Path) -> None:
    settings = load({VARIABLE: '[{"replicas": 4}]'}, _file(tmp_path, "slicing: {rules: 5}"))

    assert len(settings.slicing.rules) == 1


@pytest.mark.parametrize(
    ("rule", "name", "says"),
    [
        ("{replicas: 1}", "replicas", "a whole number from 2 to 128 slices"),
        ("{replicas: many}", "replicas", "a whole number"),
        ("{replicas: true}", "replicas", "true or false where a number belongs"),
        ("{sharing: mps}", "sharing", "exclusive, or empty"),
        ("{memory_per_slice: 4Gb}", "memory_per_slice", "'4Gb' is not a quantity"),
        ("{memory_per_slice: 4096}", "memory_per_slice", "such as 4Gi"),
        ("{memory_per_slice: 1Ki}", "memory_per_slice", "whole MiB from 1Mi to 1Ti"),
        ("{memory_per_slice: 2Ti}", "memory_per_slice", "whole MiB from 1Mi to 1Ti"),
        ("{memory_per_slice: 4Gi, most: 1}", "most", "from 2 to 128"),
        ("{profile: 'two words'}", "profile", "a key that can be a label's value"),
        ("{replicas: 4, name: ''}", "", ""),
        ("{replicas: 4, name: '-'}", "name", "letters, digits, spaces"),
        ("{replicas: 4, labels: [a]}", "labels", "a map of label names"),
        ("{replicas: 4, labels: {a: true}}", "labels.a", "a map of label names"),
        ("{replicas: 4, instance_types: g5.xlarge}", "instance_types", "a list of names such as g4dn.xlarge"),
        ("{replicas: 4, instance_types: [g5]}", "instance_types[0]", "a list of names such as g4dn.xlarge"),
        ("{replicas: 4, families: [g5, g6.xlarge]}", "families[1]", "a list of names such as g5"),
        ("{replicas: 4, capacity_types: [cheap]}", "capacity_types[0]", "a list of on-demand, spot, reserved"),
        ("{replicas: 4, node_pools: [Dev]}", "node_pools[0]", "a list of NodePools' names"),
        ("{replicas: 4, gpu_models: ['']}", "gpu_models[0]", "a list of names such as A10G"),
    ],
)
def test_a_wrong_field_of_a_rule_is_named_by_the_rules_place(tmp_path: Path, rule: str, name: str, says: str) -> None:
    path = _file(tmp_path, f"slicing:\n  rules:\n    - replicas: 2\n    - {rule}\n")
    if not name:
        assert load({}, path).slicing.rules[1].name is None
        return
    (mistake,) = _mistakes({}, path)
    assert mistake.name == f"slicing.rules[1].{name} / {VARIABLE}"
    assert mistake.origin == f"file {path}, line 4"
    assert says in str(mistake)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("{}", "it says none of them: give exactly one of"),
        ("", "it says none of them: give exactly one of"),
        ("{name: dev}", "it says none of them"),
        ("{replicas: 4, sharing: exclusive}", "it says sharing and replicas: give exactly one of"),
        ("{replicas: 4, most: 8}", "most, which bounds memory_per_slice only"),
        ("5", "a group of settings belongs here"),
        ("[{replicas: 4}]", "a group of settings belongs here"),
    ],
)
def test_a_rule_that_is_wrong_as_a_whole_is_named_by_its_place(tmp_path: Path, rule: str, says: str) -> None:
    path = _file(tmp_path, f"slicing:\n  rules:\n    - replicas: 2\n    - {rule}\n")
    (mistake,) = _mistakes({}, path)

    assert mistake.name == f"slicing.rules[1] / {VARIABLE}"
    assert says in mistake.problem
    assert mistake.origin == f"file {path}, line 4"


def test_an_unknown_name_in_a_rule_stops_with_the_one_that_was_meant(tmp_path: Path) -> None:
    path = _file(tmp_path, "slicing:\n  rules:\n    - replicas: 2\n      node_pool: [dev]\n")
    (mistake,) = _mistakes({}, path)

    assert mistake.name == "slicing.rules[0].node_pool"
    assert "did you mean slicing.rules[*].node_pools?" in mistake.remedy
    assert mistake.origin.endswith("line 4")


def test_two_rules_of_one_name_are_refused() -> None:
    (mistake,) = _mistakes({VARIABLE: '[{"name": "dev", "replicas": 4}, {"name": "dev", "replicas": 2}]'})

    assert mistake.name == f"slicing.rules / {VARIABLE}"
    assert "two rules are named dev" in mistake.problem


@pytest.mark.parametrize("text", ["5", "dev", "{replicas: 4}"])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    (mistake,) = _mistakes({}, _file(tmp_path, f"slicing: {{rules: {text}}}"))

    assert mistake.name == f"slicing.rules / {VARIABLE}"
    assert mistake.allowed == "a list"


@pytest.mark.parametrize(("text", "says"), [("[", "it is no JSON: "), ('{"replicas": 4}', "it is no JSON list")])
def test_a_list_in_the_environment_must_be_json(text: str, says: str) -> None:
    (mistake,) = _mistakes({VARIABLE: text})

    assert says in mistake.problem
    assert '[{"name": "dev"' in mistake.remedy


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("plugin_namespace", "My.Space", "a namespace's name"),
        ("plugin_selector", "", "a label selector such as"),
        ("plugin_selector", "app=ä", "a label selector such as"),
        ("plugin_selector", "a in (b", "a label selector such as"),
        ("plugin_selector", "a=b,", "a label selector such as"),
        ("config_map", "Profiles", "object's name"),
        ("later", "now", "one of idle, fence, never"),
        ("fence_for", "1s", "a duration from 10s to 1d"),
        ("most_restarts", "0", "from 1 to 10 times"),
        ("contest_limit", "0", "from 1 to 100 times"),
        ("restart_plugin", "maybe", "true or false"),
    ],
)
def test_a_wrong_knob_of_sharing_says_what_is_allowed(field: str, value: str, says: str) -> None:
    variable = f"GPU_RECONCILER_SLICING__{field}".upper()
    (mistake,) = _mistakes({variable: value})

    assert mistake.name == f"slicing.{field} / {variable}"
    assert says in mistake.allowed


@pytest.mark.parametrize(
    "selector",
    [
        "app=nvidia-device-plugin-daemonset",
        "a==b, !c,d != e",
        "app in (nvidia-device-plugin, other),tier notin (x)",
        "app.kubernetes.io/name",
        "a=",
    ],
)
def test_label_selectors_are_taken_as_the_api_server_takes_them(selector: str) -> None:
    settings = load({"GPU_RECONCILER_SLICING__PLUGIN_SELECTOR": selector})

    assert settings.slicing.plugin_selector == selector
