"""aws/session.py: region, credentials and clients come as a pod on EKS gets them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from reconciler.aws.session import AwsSession, Refused
from tests.aws import ec2_double

pytestmark = pytest.mark.anyio
ROLE = "arn:aws:iam::123456789012:role/gpu-reconciler"


def metadata(**paths: str) -> ec2_double.Rule:
    """Instance metadata, version 2: without the token it says no."""

    def rule(request: ec2_double.Request) -> ec2_double.Answer:
        if request.method == "PUT" and request.path == "/latest/api/token":
            return ec2_double.Answer(200, "the-token")
        if request.headers.get("x-aws-ec2-metadata-token") != "the-token":
            return ec2_double.Answer(401)
        return ec2_double.Answer(200, paths[request.path.rstrip("/").rpartition("/")[2].replace("-", "_")])

    return rule


async def region_of(session: AwsSession) -> str:
    return await session.call("sts", lambda client: str(client.meta.region_name))


async def ask(session: AwsSession) -> None:
    """Any call that is signed. STS stands for EC2 throughout: its client takes a hundredth of the time to make."""
    await session.call("sts", lambda client: client.get_caller_identity())


async def access_key_of(session: AwsSession, double: ec2_double.Double) -> str:
    """Who the session signs as."""
    await ask(session)
    return double.requests[-1].access_key


async def test_the_given_region_goes_first(aws_environment: pytest.MonkeyPatch) -> None:
    aws_environment.setenv("AWS_DEFAULT_REGION", "eu-west-2")

    assert await region_of(AwsSession(region="eu-west-1", node_region=lambda: "eu-west-3")) == "eu-west-1"


async def test_the_environments_region_is_the_second(aws_environment: pytest.MonkeyPatch) -> None:
    aws_environment.setenv("AWS_DEFAULT_REGION", "eu-west-2")

    assert await region_of(AwsSession(node_region=lambda: "eu-west-3")) == "eu-west-2"


@pytest.mark.parametrize(
    ("zone", "region"),
    [("eu-central-1b", "eu-central-1"), ("us-west-2-lax-1a", "us-west-2"), ("us-gov-west-1a", "us-gov-west-1")],
)
async def test_instance_metadata_is_the_third(aws_environment: pytest.MonkeyPatch, zone: str, region: str) -> None:
    aws_environment.delenv("AWS_EC2_METADATA_DISABLED")
    with ec2_double.serving(metadata(availability_zone=zone)) as imds:
        aws_environment.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", imds.url)

        assert await region_of(AwsSession(node_region=lambda: "eu-west-3")) == region


async def test_the_nodes_labels_are_the_last_and_may_come_late() -> None:
    labels: list[str] = []
    session = AwsSession(node_region=lambda: labels[0] if labels else None)

    with pytest.raises(Refused, match=r"aws\.region"):
        await region_of(session)
    labels.append("eu-west-3")
    assert await region_of(session) == "eu-west-3"


async def test_metadata_that_cannot_be_had_is_asked_for_once(aws_environment: pytest.MonkeyPatch) -> None:
    aws_environment.delenv("AWS_EC2_METADATA_DISABLED")
    with ec2_double.serving(ec2_double.always(ec2_double.Answer(403))) as imds:
        aws_environment.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", imds.url)
        session = AwsSession()
        for _ in range(3):
            with pytest.raises(Refused):
                await region_of(session)
        asked = [request for request in imds.requests if "availability-zone" in request.path]

    assert len(asked) <= 1


async def test_many_callers_share_one_client() -> None:
    session = AwsSession(region="eu-west-1")
    clients: list[Any] = []

    async def take() -> None:
        clients.append(await session.call("sts", lambda client: client))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(take)

    assert len({id(client) for client in clients}) == 1
    assert len(clients) == 6


async def test_pod_identity_gives_credentials(no_credentials: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("the pod's token")
    credentials = {
        "AccessKeyId": "ASIAPODIDENTITY",
        "SecretAccessKey": "secret",
        "Token": "session",
        "Expiration": "2099-01-01T00:00:00Z",
    }
    with (
        ec2_double.serving(ec2_double.always(ec2_double.Answer(200, json.dumps(credentials)))) as agent,
        ec2_double.serving(ec2_double.always(ec2_double.identity())) as aws,
    ):
        no_credentials.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.url}/v1/credentials")
        no_credentials.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))

        assert await access_key_of(AwsSession(region="eu-west-1", endpoint_url=aws.url), aws) == "ASIAPODIDENTITY"
    assert agent.requests[0].headers["Authorization"] == "the pod's token"


async def test_a_pod_identity_agent_that_refuses_is_told(no_credentials: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("the pod's token")
    with ec2_double.serving(ec2_double.always(ec2_double.Answer(404, "no association"))) as agent:
        no_credentials.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.url}/v1/credentials")
        no_credentials.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        session = AwsSession(region="eu-west-1", endpoint_url=agent.url, max_attempts=1)

        with pytest.raises(Refused, match="no AWS credentials"):
            await ask(session)


async def test_irsa_gives_credentials(no_credentials: pytest.MonkeyPatch, tmp_path: Path, moto_url: str) -> None:
    (tmp_path / "token").write_text("a web identity token")
    no_credentials.setenv("AWS_ROLE_ARN", ROLE)
    no_credentials.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    no_credentials.setenv("AWS_ENDPOINT_URL_STS", moto_url)
    with ec2_double.serving(ec2_double.always(ec2_double.identity())) as aws:
        key = await access_key_of(AwsSession(region="eu-west-1", endpoint_url=aws.url), aws)

    assert key.startswith("ASIA")


async def test_a_trust_policy_that_does_not_fit_is_told(no_credentials: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a web identity token")
    denied = ec2_double.Answer(
        403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>"
    )
    with ec2_double.serving(ec2_double.always(denied)) as sts:
        no_credentials.setenv("AWS_ROLE_ARN", ROLE)
        no_credentials.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        no_credentials.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        session = AwsSession(region="eu-west-1", max_attempts=1)

        with pytest.raises(Refused, match=r"AssumeRoleWithWebIdentity.*trust policy"):
            await ask(session)


async def test_a_token_file_that_is_not_there_is_told(no_credentials: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_credentials.setenv("AWS_ROLE_ARN", ROLE)
    no_credentials.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))

    with pytest.raises(Refused, match=r"credentials cannot be read \(FileNotFoundError"):
        await ask(AwsSession(region="eu-west-1"))


async def test_another_role_is_assumed_where_one_is_set(aws_environment: pytest.MonkeyPatch, moto_url: str) -> None:
    aws_environment.setenv("AWS_ENDPOINT_URL_STS", moto_url)
    with ec2_double.serving(ec2_double.always(ec2_double.identity())) as aws:
        session = AwsSession(region="eu-west-1", endpoint_url=aws.url, role_arn=ROLE)

        assert (await access_key_of(session, aws)).startswith("ASIA")


async def test_without_own_credentials_no_role_is_assumed(no_credentials: pytest.MonkeyPatch) -> None:
    session = AwsSession(region="eu-west-1", role_arn=ROLE)

    with pytest.raises(Refused, match="no AWS credentials"):
        await ask(session)


async def test_a_fault_of_our_own_is_not_dressed_up() -> None:
    with pytest.raises(ZeroDivisionError):
        await AwsSession(region="eu-west-1").call("sts", lambda client: 1 // 0)


def test_a_controller_that_never_asks_imports_nothing_of_aws() -> None:
    code = (
        "import sys, reconciler.aws.instance_types, reconciler.aws.builtin; reconciler.aws.builtin.builtin();"
        "print([name for name in sys.modules if name.startswith(('boto3', 'botocore'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
