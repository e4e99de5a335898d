"""What the tests of the AWS door share: an environment without this machine's AWS, and one moto server."""

import os
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer

from reconciler.aws.session import AwsSession
from tests.aws import ec2_double


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Credentials that are nobody's, no files, no instance metadata; tests change it from there."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIATEST",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def no_credentials(aws_environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    aws_environment.delenv("AWS_ACCESS_KEY_ID")
    aws_environment.delenv("AWS_SECRET_ACCESS_KEY")
    return aws_environment


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    # moto reads its table of instance types at the first question, which takes seconds on a busy machine.
    body = urllib.parse.urlencode({"Action": "DescribeInstanceTypes", "InstanceType.1": "m5.large"}).encode()
    headers = {"Authorization": "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/ec2/aws4_request"}
    urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=90).close()
    yield url
    server.stop()


@pytest.fixture(scope="session")
def _shared_double() -> Iterator[tuple[ec2_double.Double, AwsSession]]:
    """One double and one session to it: a client of EC2 costs a second to make."""
    with ec2_double.serving(ec2_double.always(None)) as double:
        yield double, AwsSession(region="us-east-1", endpoint_url=double.url, timeout=5.0, max_attempts=1)


@pytest.fixture
def ec2(_shared_double: tuple[ec2_double.Double, AwsSession]) -> ec2_double.Double:
    """The double, without a past."""
    double, _ = _shared_double
    double.rule = ec2_double.always(None)
    double.requests.clear()
    return double


@pytest.fixture
def session(_shared_double: tuple[ec2_double.Double, AwsSession]) -> AwsSession:
    """A session to the double, which tries each call once."""
    return _shared_double[1]
