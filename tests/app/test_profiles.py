"""cli/profiles.py: the ConfigMap that people apply, and what is said of theirs."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from reconciler.cli import app

THEIRS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: time-slicing-config-all, creationTimestamp: 2026-01-01T00:00:00Z}
data:
  any: |-
    version: v1
    flags:
      migStrategy: none
    sharing:
      timeSlicing:
        resources:
        - name: nvidia.com/gpu
          replicas: 4
"""
ONCE = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}"
EIGHT = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}"
RENAMED = "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 8}]}}"
MPS = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"


def call(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["profiles", *words], input=stdin)


def config_map(**data: object) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data})


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_is_printed_can_be_applied_and_passes_the_check(form: str) -> None:
    printed = call("--most", "3", "--name", "gpu-operator/mine", "-o", form)
    found = yaml.safe_load(printed.stdout)

    assert printed.exit_code == 0
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == ("gpu-operator", "mine")
    assert list(found["data"]) == ["exclusive", "ts-2", "ts-3"]
    checked = call("--from", "-", stdin=printed.stdout)
    assert (checked.exit_code, checked.stdout) == (0, call("--most", "3", "-o", "text").stdout)


def test_their_config_map_as_it_stands_is_usable() -> None:
    checked = call("--from", "-", stdin=THEIRS)

    assert (checked.exit_code, checked.stdout) == (0, "any: each GPU shows 4 times\n")


def test_a_list_of_one_is_what_kubectl_writes_for_a_selector() -> None:
    items = json.dumps({"kind": "List", "items": [yaml.safe_load(config_map(any=EIGHT))]})

    assert call("--from", "-", stdin=items).stdout == "any: each GPU shows 8 times\n"


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("one", ONCE, "the plugin would refuse it: sharing.timeSlicing.resources[0].replicas is 1"),
        ("ts-4", EIGHT, "its name promises something else: each GPU shows 8 times"),
        ("exclusive", EIGHT, "its name promises something else: each GPU shows 8 times"),
        ("two", MPS, "it shares by MPS, which is left alone"),
        ("x" * 64, EIGHT, "no node can name it"),
        (".hidden", EIGHT, "no node can name it"),
        ("number", 4, "the plugin would refuse it: it is no text"),
        ("broken", "sharing: [", "the plugin would refuse it: it is no YAML"),
    ],
)
def test_a_key_that_cannot_be_used_is_named_with_the_reason_and_does_not_hide_the_others(
    key: str, text: object, says: str
) -> None:
    checked = call("--from", "-", stdin=config_map(**{key: text, "fine": EIGHT, "renamed": RENAMED}))

    assert checked.exit_code == 1
    assert f"{key}: {says}" in checked.stdout
    assert "fine: each GPU shows 8 times\n" in checked.stdout
    assert "renamed: each GPU shows 8 times as nvidia.com/gpu.shared\n" in checked.stdout
    assert checked.stderr == f"not usable: {key}\n"


def test_programs_get_a_list_of_objects() -> None:
    checked = call("--from", "-", "-o", "json", stdin=config_map(one=ONCE, fine=EIGHT))
    found = {one["key"]: one for one in json.loads(checked.stdout)}

    assert checked.exit_code == 1
    assert list(found["fine"]) == ["key", "usable", "says", "replicas", "renamed", "mps"]
    assert (found["fine"]["usable"], found["fine"]["replicas"]) == (True, 8)
    assert (found["one"]["usable"], found["one"]["replicas"]) == (False, None)


def test_binary_data_is_no_profile() -> None:
    checked = call("--from", "-", stdin=json.dumps({"kind": "ConfigMap", "binaryData": {"any": "AAAA"}}))

    assert (checked.exit_code, "it is under binaryData" in checked.stdout) == (1, True)


def test_a_config_map_without_keys_is_told() -> None:
    assert call("--from", "-", stdin=config_map()).exit_code == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no object of kind ConfigMap"),
        ("kind: Node", "no object of kind ConfigMap"),
        ("kind: List\nitems: []", "no object of kind ConfigMap"),
        ("a: 1\nb: [", "line 2: "),
        ("when: 2026-99-99", "it is no YAML"),
        ("kind: ConfigMap\ndata: [a]", "data is no map of texts"),
        ("[" * 5000, "it is no YAML"),
        ("x" * (2 * 1024 * 1024 + 1), "more than a ConfigMap can have"),
    ],
)
def test_a_file_that_is_no_config_map_is_said_to_be_none(content: str, says: str) -> None:
    checked = call("--from", "-", stdin=content)

    assert checked.exit_code == 2
    assert says in checked.stderr
    assert "kubectl get configmap NAME -o yaml" in checked.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    checked = call("--from", str(tmp_path / "none.yaml"))

    assert (checked.exit_code, "none.yaml: No such file" in checked.stderr) == (2, True)


def test_the_settings_say_where_it_belongs(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("slicing: {plugin_namespace: gpu-operator, config_map: mine}")
    found = yaml.safe_load(call("--config", str(settings)).stdout)["metadata"]

    assert (found["namespace"], found["name"]) == ("gpu-operator", "mine")


@pytest.mark.parametrize("name", ["plain", "/x", "x/", ""])
def test_a_name_without_its_namespace_is_refused(name: str) -> None:
    assert call("--name", name).exit_code == 2
