"""The Terraform module: its own tests on a mocked provider, and a real apply by the real provider on a mocked AWS."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.infra.pod_identity import mocked_aws

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "scripts" / "terraform"
TRUST = ["sts:AssumeRole", "sts:TagSession"]

pytestmark = pytest.mark.timeout(300)

needs_terraform = pytest.mark.skipif(
    shutil.which("terraform") is None and os.environ.get("CI") != "true",
    reason="NOT RUN: install terraform 1.9 or newer to test infra/ (in CI its absence is a failure)",
)


def _run(folder: Path, *arguments: str, **environment: str) -> str:
    """Terraform's standard output; on failure all it said becomes the test's failure."""
    environ = {**os.environ, **environment}
    done = subprocess.run(
        [TERRAFORM, f"-chdir={folder}", *arguments, "-no-color"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"terraform {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def infra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that no lock file and no state is left in the tree."""
    return Path(shutil.copytree(ROOT / "infra", tmp_path_factory.mktemp("infra") / "infra"))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with mocked_aws() as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield address


@needs_terraform
def test_the_modules_own_tests_pass(infra: Path) -> None:
    module = infra / "modules" / "reconciler"
    _run(module, "init")
    said = _run(module, "test")
    runs = (module / "tests" / "unit.tftest.hcl").read_text().count('\nrun "')
    assert f"Success! {runs} passed, 0 failed." in said


@needs_terraform
def test_the_example_applies_settles_and_is_removed_without_a_trace(infra: Path, aws: str) -> None:
    """By the real provider: role, policy and association are there, a second plan is empty, destroy leaves nothing."""
    example = infra / "examples" / "basic"
    chosen = ("-var=cluster_name=demo", "-var=region=eu-west-1")
    _run(example, "init")
    _run(example, "apply", "-auto-approve", *chosen)
    outputs: dict[str, Any] = json.loads(_run(example, "output", "-json"))
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

    _run(example, "plan", "-detailed-exitcode", *chosen)  # exit code 2, a failure here, would mean changes
    _run(example, "destroy", "-auto-approve", *chosen)
    assert iam.list_roles()["Roles"] == []
    assert eks.list_pod_identity_associations(clusterName="demo")["associations"] == []


def test_the_modules_defaults_are_the_manifests_names() -> None:
    """Two places say the names, so that each can be used without the other; they must say the same."""
    text = (ROOT / "infra" / "modules" / "reconciler" / "variables.tf").read_text()
    for variable in ("namespace", "service_account"):
        block = text.split(f'variable "{variable}" {{')[1].split("\n}\n")[0]
        assert 'default     = "gpu-reconciler"' in block
