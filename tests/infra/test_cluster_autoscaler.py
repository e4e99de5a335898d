"""The Terraform example for Cluster Autoscaler: its own tests, and a real apply of what the command prints."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from reconciler.cli import app
from tests.infra.pod_identity import mocked_aws

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "infra" / "examples" / "cluster-autoscaler"
TERRAFORM = ROOT / "scripts" / "terraform"

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        shutil.which("terraform") is None and os.environ.get("CI") != "true",
        reason="NOT RUN: install terraform 1.9 or newer to test infra/ (in CI its absence is a failure)",
    ),
]


def run(folder: Path, *arguments: str) -> str:
    """Terraform's standard output; on failure all it said becomes the test's failure."""
    done = subprocess.run(
        [TERRAFORM, f"-chdir={folder}", *arguments, "-no-color"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"terraform {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy, so that no lock file and no state is left in the tree."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    run(folder, "init")
    return folder


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with mocked_aws() as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield address


def test_the_examples_own_tests_pass(example: Path) -> None:
    runs = (example / "tests" / "unit.tftest.hcl").read_text().count('\nrun "')
    assert f"Success! {runs} passed, 0 failed." in run(example, "test")


def test_what_the_command_prints_lands_on_the_group_and_goes_again(example: Path, aws: str) -> None:
    """By the real provider; a tag of somebody else's stays, and a second plan is empty."""
    scaling: Any = boto3.client("autoscaling", endpoint_url=aws, region_name="eu-west-1")
    scaling.create_launch_configuration(LaunchConfigurationName="l", ImageId="ami-1", InstanceType="g4dn.xlarge")
    theirs = {"Key": "owner", "Value": "vision", "PropagateAtLaunch": True, "ResourceId": "eks-dev-1"}
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="eks-dev-1",
        LaunchConfigurationName="l",
        MinSize=0,
        MaxSize=3,
        AvailabilityZones=["eu-west-1a"],
        Tags=[theirs],
    )

    def tags() -> dict[str, str]:
        (group,) = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["eks-dev-1"])["AutoScalingGroups"]
        return {tag["Key"]: tag["Value"] for tag in group["Tags"]}

    words = ["asg-tags", "g4dn.xlarge", "--node-group", "dev", "--replicas", "4", "-o", "terraform"]
    printed = CliRunner().invoke(app, words)
    assert printed.exit_code == 0, printed.stderr
    (example / "tags.auto.tfvars.json").write_text(printed.stdout)
    chosen = ("-var=region=eu-west-1", '-var=autoscaling_groups={dev="eks-dev-1"}')
    run(example, "apply", "-auto-approve", *chosen)

    assert tags() == {"owner": "vision", **json.loads(printed.stdout)["node_group_tags"]["dev"]}
    run(example, "plan", "-detailed-exitcode", *chosen)  # exit code 2, a failure here, would mean changes
    run(example, "destroy", "-auto-approve", *chosen)
    assert tags() == {"owner": "vision"}
