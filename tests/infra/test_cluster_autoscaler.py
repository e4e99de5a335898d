"""The Terraform example for Cluster Autoscaler: its own tests, and a real apply of what the command prints."""

import json
import shutil
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from reconciler.cli import app
from tests.infra.terraform import ROOT, needs_terraform, run

EXAMPLE = ROOT / "infra" / "examples" / "cluster-autoscaler"

pytestmark = [pytest.mark.timeout(300), needs_terraform]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy, so that no lock file and no state is left in the tree."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    run(folder, "init")
    return folder


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
