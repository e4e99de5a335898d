"""The Terraform module: its own tests on a mocked provider, and a real apply by the real provider on a mocked AWS."""

import json
import shutil
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.infra.terraform import ROOT, needs_terraform, run

TRUST = ["sts:AssumeRole", "sts:TagSession"]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def infra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that no lock file and no state is left in the tree."""
    return Path(shutil.copytree(ROOT / "infra", tmp_path_factory.mktemp("infra") / "infra"))


@needs_terraform
def test_the_modules_own_tests_pass(infra: Path) -> None:
    module = infra / "modules" / "reconciler"
    run(module, "init")
    said = run(module, "test")
    runs = (module / "tests" / "unit.tftest.hcl").read_text().count('\nrun "')
    assert f"Success! {runs} passed, 0 failed." in said


@needs_terraform
def test_the_example_applies_settles_and_is_removed_without_a_trace(infra: Path, aws: str) -> None:
    """By the real provider: role, policy and association are there, a second plan is empty, destroy leaves nothing."""
    example = infra / "examples" / "basic"
    chosen = ("-var=cluster_name=demo", "-var=region=eu-west-1")
    run(example, "init")
    run(example, "apply", "-auto-approve", *chosen)
    outputs: dict[str, Any] = json.loads(run(example, "output", "-json"))
    iam = boto3.client("iam", endpoint_url=aws, region_name="eu-west-1")
    eks = boto3.client("eks", endpoint_url=aws, region_name="eu-west-1")

    role = iam.get_role(RoleName="demo-gpu-reconciler")["Role"]
    assert role["Arn"] == outputs["role_arn"]["value"]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Action"] == TRUST
    policy = iam.get_role_policy(RoleName=role["RoleName"], PolicyName="read-instance-types")["PolicyDocument"]
    assert [(one["Action"], one["Condition"]) for one in policy["Statement"]] == [
        (["ec2:DescribeInstanceTypes"], {"StringEquals": {"aws:RequestedRegion": ["eu-west-1"]}})
    ]
    (association,) = eks.list_pod_identity_associations(clusterName="demo")["associations"]
    assert (association["namespace"], association["serviceAccount"]) == ("gpu-reconciler", "gpu-reconciler")

    run(example, "plan", "-detailed-exitcode", *chosen)  # exit code 2, a failure here, would mean changes
    run(example, "destroy", "-auto-approve", *chosen)
    assert iam.list_roles()["Roles"] == []
    assert eks.list_pod_identity_associations(clusterName="demo")["associations"] == []


def test_the_modules_defaults_are_the_manifests_names() -> None:
    """Two places say the names, so that each can be used without the other; they must say the same."""
    text = (ROOT / "infra" / "modules" / "reconciler" / "variables.tf").read_text()
    for variable in ("namespace", "service_account"):
        block = text.split(f'variable "{variable}" {{')[1].split("\n}\n")[0]
        assert 'default     = "gpu-reconciler"' in block
