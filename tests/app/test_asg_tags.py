"""cli/asg_tags.py, app/asg_tagging.py and decide/asg_tags.py: what node groups say of nodes that are not there yet."""

import json

import pytest
from typer.testing import CliRunner, Result

from reconciler.cli import app
from reconciler.cli.asg_tags import VARIABLE

PREFIX = "k8s.io/cluster-autoscaler/node-template"
MEMORY = f"{PREFIX}/resources/gpu-reconciler.io/gpu-memory"
GPU = f"{PREFIX}/resources/nvidia.com/gpu"
MODEL = f"{PREFIX}/label/gpu-reconciler.io/gpu-model"
COUNT = f"{PREFIX}/label/gpu-reconciler.io/gpu-count"
TAINT = f"{PREFIX}/taint/gpu-reconciler.io/not-ready"


def call(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["asg-tags", *words], env=environment)


def tags(*words: str, **environment: str) -> dict[str, dict[str, str]]:
    result = call(*words, "-o", "json", **environment)
    assert result.exit_code == 0, result.stderr
    answer: dict[str, dict[str, str]] = json.loads(result.stdout)
    return answer


def test_a_type_has_its_memory_its_gpus_and_the_labels_that_will_hold() -> None:
    assert tags("g4dn.xlarge") == {"g4dn.xlarge": {MEMORY: "14592Mi", GPU: "1", MODEL: "T4", COUNT: "1"}}


def test_a_group_of_several_types_says_the_least_of_them_and_no_label_that_differs() -> None:
    assert tags("g5.xlarge", "g4dn.xlarge", "--node-group", "dev") == {"dev": {MEMORY: "14592Mi", GPU: "1", COUNT: "1"}}


def test_the_gpu_that_ec2_counts_as_none_is_one() -> None:
    assert tags("g6f.large")["g6f.large"][GPU] == "1"


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["--replicas", "4"], "4"),
        (["--capacity-type", "spot"], "2"),
        (["--capacity-type", "on-demand"], "1"),
        (["--label", "team=vision", "--capacity-type", "on-demand"], "8"),
        ([], "1"),
    ],
)
def test_slices_come_by_count_or_by_the_rules(words: list[str], gpus: str) -> None:
    """Where it is open how nodes are bought, the least counts."""
    rules = [{"labels": {"team": "vision"}, "replicas": 8}, {"capacity_types": ["spot"], "replicas": 2}]
    spot = [] if "--capacity-type" not in words else ["--label", "team=speech"]
    found = tags("g4dn.xlarge", *(spot if "team=vision" not in words else []), *words, **slicing(rules))
    assert found["g4dn.xlarge"][GPU] == gpus


def slicing(rules: list[dict[str, object]]) -> dict[str, str]:
    return {"GPU_RECONCILER_SLICING__RULES": json.dumps(rules)}


def test_settings_count_and_what_would_not_be_advertised_has_no_tag() -> None:
    result = call("g4dn.12xlarge", "-o", "json")
    assert json.loads(result.stdout) == {"g4dn.12xlarge": {GPU: "4"}}
    assert "g4dn.12xlarge: no tag for gpu-reconciler.io/gpu-memory" in result.stderr
    summed = tags("g4dn.12xlarge", GPU_RECONCILER_CAPACITY__MULTI_GPU="sum")
    assert summed["g4dn.12xlarge"][MEMORY] == f"{4 * 14592}Mi"
    named = tags("g4dn.xlarge", GPU_RECONCILER_CAPACITY__RESOURCE="veriff.com/gpu-memory")
    assert named["g4dn.xlarge"][f"{PREFIX}/resources/veriff.com/gpu-memory"] == "14592Mi"


def test_slices_that_cannot_be_counted_have_no_tag() -> None:
    result = call("g4dn.xlarge", "-o", "json", **slicing([{"profile": "theirs"}]))
    assert GPU not in json.loads(result.stdout)["g4dn.xlarge"]
    assert "no tag for GPUs, since g4dn.xlarge: profile theirs" in result.stderr


def test_the_startup_taint_is_a_tag_by_wish_with_the_flag_that_it_needs() -> None:
    result = call("g4dn.xlarge", "--startup-taint", "-o", "json")
    assert json.loads(result.stdout)["g4dn.xlarge"][TAINT] == ":NoSchedule"
    assert "--startup-taint=gpu-reconciler.io/not-ready" in result.stderr


def test_a_key_that_aws_would_refuse_is_left_out_and_said() -> None:
    long = f"{'a' * 60}.example.com/{'b' * 60}"
    result = call("g4dn.xlarge", "-o", "json", GPU_RECONCILER_CAPACITY__RESOURCE=long)
    assert json.loads(result.stdout)["g4dn.xlarge"] == {GPU: "1", MODEL: "T4", COUNT: "1"}
    assert "longer than the 128 characters" in result.stderr


def test_for_terraform_it_is_a_variables_file() -> None:
    result = call("g4dn.xlarge", "--node-group", "dev", "-o", "terraform")
    assert json.loads(result.stdout) == {VARIABLE: tags("g4dn.xlarge", "--node-group", "dev")}


def test_for_people_it_is_a_list_of_every_known_type_when_none_is_named() -> None:
    result = call()
    lines = result.stdout.splitlines()
    assert {"g4dn.xlarge", "p5.4xlarge", "g6f.large"} <= set(lines)
    assert f"  {MEMORY} = 14592Mi" in lines
    assert "g4ad.xlarge" not in lines, "its GPU is AMD's"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["m5.large"], "m5.large"),
        (["--node-group", "dev"], "name the instance types"),
        (["g4dn.xlarge", "--label", "team"], "KEY=VALUE"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(words: list[str], says: str) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert says in result.stderr
