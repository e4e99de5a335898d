"""cli.py: what people type, what they read, and the exit codes that scripts rely on."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from reconciler.cli import app
from reconciler.model.reasons import Reason
from reconciler.model.record import Source


def node(name: str, kind: str | None, **resources: str) -> dict[str, object]:
    labels = {"node.kubernetes.io/instance-type": kind} if kind else {}
    there = {"cpu": "4", "memory": "16Gi", "pods": "29", **resources}
    status = {"capacity": there, "allocatable": there, "nodeInfo": {"bootID": "b"}}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": status | ready,
    }


def pod(number: int, on: str, memory: str) -> dict[str, object]:
    container = {"name": "main", "resources": {"requests": {"veriff.com/gpu-memory": memory, "cpu": "100m"}}}
    meta = {"name": f"pod-{number}", "namespace": "default", "uid": f"uid-{number}"}
    return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": on, "containers": [container]}}


@pytest.fixture(autouse=True)
def veriff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of starting point A keep the name of their resource."""
    monkeypatch.setenv("GPU_RECONCILER_CAPACITY__RESOURCE", "veriff.com/gpu-memory")
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """What kubectl wrote of a small mixed cluster; the T4 node is full of pods."""
    items = [
        node("t4", "g4dn.xlarge"),
        node("cpu", "m5.large"),
        node("amd", "g4ad.xlarge"),
        node("four", "g5.12xlarge"),
        node("odd", None),
        *(pod(number, "t4", "104Mi") for number in range(29)),
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": items}, indent=1))
    return file


def call(*words: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(app, list(words), input=stdin)


def test_one_node_of_a_file_is_one_object_with_the_documented_fields(dump: Path) -> None:
    result = call("explain", "t4", "--from", str(dump), "-o", "json")

    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert list(answer) == [
        "node", "instance_type", "resource", "mib", "source", "reason", "because", "sharing", "opinions", "limits",
        "actions",
    ]  # fmt: skip
    assert (answer["node"], answer["instance_type"]) == ("t4", "g4dn.xlarge")
    assert (answer["resource"], answer["mib"], answer["source"]) == ("veriff.com/gpu-memory", 14592, "builtin")
    assert answer["reason"] == "Provisional"
    assert [action["kind"] for action in answer["actions"]] == ["Announce", "Advertise", "RunProbe"]


def test_on_a_node_full_of_small_pods_the_number_of_pods_binds_and_not_their_memory(dump: Path) -> None:
    """29 pods of 104 MiB on a g4dn.xlarge: most of the GPU is free, and not one more pod fits."""
    answer = json.loads(call("explain", "t4", "--from", str(dump), "-o", "json").stdout)

    assert answer["limits"][0] == {"resource": "pods", "fits": 0, "total": 29, "binds": True}
    [memory] = [limit for limit in answer["limits"] if limit["resource"] == "veriff.com/gpu-memory"]
    assert memory == {
        "resource": "veriff.com/gpu-memory",
        "fits": (14592 - 29 * 104) // 104,
        "total": 140,
        "binds": False,
    }


def test_the_size_of_a_pod_can_be_given(dump: Path) -> None:
    words = ["explain", "t4", "--from", str(dump), "-o", "json", "--pod-memory", "8Gi", "--pod-cpu", "1"]
    answer = json.loads(call(*words).stdout)

    fits = {limit["resource"]: limit["fits"] for limit in answer["limits"]}
    assert fits == {"pods": 0, "cpu": 1, "veriff.com/gpu-memory": 1}


def test_all_nodes_are_a_list_and_a_node_that_is_none_of_our_business_says_why(dump: Path) -> None:
    result = call("explain", "--all", "--from", str(dump), "-o", "json")

    assert result.exit_code == 0
    answers = {answer["node"]: answer for answer in json.loads(result.stdout)}
    assert {name: answer["reason"] for name, answer in answers.items()} == {
        "t4": "Provisional",
        "cpu": "NoGPU",
        "amd": "NotNVIDIA",
        "four": "MultiGPU",
        "odd": "NoInstanceType",
    }
    assert all(answer["mib"] is None and answer["because"] for name, answer in answers.items() if name != "t4")
    for answer in answers.values():
        assert answer["reason"] in set(Reason)
        assert answer["source"] in set(Source)


def test_the_file_may_come_from_a_pipe_and_text_is_for_people(dump: Path) -> None:
    result = call("explain", "t4", "--from", "-", stdin=dump.read_bytes())

    assert result.exit_code == 0
    assert "veriff.com/gpu-memory: 14592 MiB, source builtin, reason Provisional" in result.stdout
    assert "pods binds first" in result.stdout
    assert "would run a probe Job on node t4" in result.stdout


def test_an_unreadable_file_is_exit_code_2_with_the_line_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"kind": "List",\n "items": [\n oops')
    result = call("explain", "--all", "--from", str(file))

    assert result.exit_code == 2
    assert "bad.json: line 3:" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["explain"], 2, "name one node, or say --all"),
        (["explain", "t4", "--all"], 2, "name one node, or say --all"),
        (["explain", "t4", "--from", "/nowhere/file"], 2, "No such file"),
        (["explain", "t4", "--config", "/nowhere/file"], 2, "/nowhere/file"),
        (["once", "--config", "/nowhere/file"], 2, "/nowhere/file"),
        (["settings", "--config", "/nowhere/file"], 2, "/nowhere/file"),
    ],
)
def test_a_wrong_command_says_what_to_do(words: list[str], code: int, says: str) -> None:
    result = call(*words)

    assert result.exit_code == code
    assert says in result.stderr


def test_a_node_that_is_not_there_is_exit_code_1_with_the_names_that_are(dump: Path) -> None:
    result = call("explain", "t5", "--from", str(dump))

    assert result.exit_code == 1
    assert "there are: amd, cpu, four, odd, t4" in result.stderr


def test_a_pod_size_that_is_no_quantity_is_refused(dump: Path) -> None:
    result = call("explain", "t4", "--from", str(dump), "--pod-memory", "lots")

    assert result.exit_code == 2
    assert "'lots' is not a quantity" in result.stderr


@pytest.mark.parametrize("size", ["0", "-5Mi"])
def test_a_pod_that_asks_for_nothing_is_no_size(dump: Path, size: str) -> None:
    result = call("explain", "t4", "--from", str(dump), "--pod-memory", size)

    assert result.exit_code == 2
    assert "more than nothing" in result.stderr


def test_gpus_of_a_pod_count_in_the_resource_that_the_settings_name(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_RECONCILER_CAPACITY__GPU_RESOURCE", "nvidia.com/gpu.shared")
    answer = json.loads(call("explain", "t4", "--from", str(dump), "-o", "json", "--pod-gpu", "1").stdout)

    assert "nvidia.com/gpu.shared" in [limit["resource"] for limit in answer["limits"]]


@pytest.mark.parametrize("items", [[], [{"kind": "Deployment", "metadata": {"name": "d"}}], [{"metadata": {}}]])
def test_a_file_without_nodes_is_refused_and_not_silently_empty(tmp_path: Path, items: list[object]) -> None:
    file = tmp_path / "none.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    result = call("explain", "--all", "--from", str(file))

    assert result.exit_code == 2
    assert "holds no Node" in result.stderr


def test_settings_are_shown_with_where_each_comes_from() -> None:
    rows = {row["name"]: row for row in json.loads(call("settings", "-o", "json").stdout)}

    assert rows["capacity.resource"] == {
        "name": "capacity.resource",
        "value": "veriff.com/gpu-memory",
        "source": "env GPU_RECONCILER_CAPACITY__RESOURCE",
    }
    assert rows["capacity.margin_mib"]["source"] == "default"
    assert "veriff.com/gpu-memory" in call("settings").stdout


@pytest.mark.parametrize("command", ["run", "once", "settings"])
def test_a_wrong_setting_stops_every_command_with_its_name(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_RECONCILER_CAPACITY__MARGIN_MIB", "lots")
    result = call(command)

    assert result.exit_code == 2
    assert "capacity.margin_mib / GPU_RECONCILER_CAPACITY__MARGIN_MIB = lots" in result.stderr


def test_without_a_cluster_the_way_to_name_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = call("once")

    assert result.exit_code == 2
    assert "GPU_RECONCILER_KUBERNETES__KUBECONFIG" in result.stderr


@pytest.mark.parametrize("value", ["[/x]", "[red]staging[/red]", "http://[fe80::1]:5000/", ":smile:"])
def test_a_setting_is_shown_letter_by_letter_and_not_as_markup(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_RECONCILER_KUBERNETES__CONTEXT", value)
    result = call("settings")

    assert result.exit_code == 0
    [line] = [line for line in result.stdout.splitlines() if line.startswith("kubernetes.context")]
    assert line.split()[1] == value


def test_settings_are_printed_whole_where_there_is_no_terminal() -> None:
    """As through `kubectl exec`: names and values are copied from there."""
    ran = CliRunner().invoke(app, ["settings"])

    assert "app.kubernetes.io/name=nvidia-device-plugin" in ran.output
