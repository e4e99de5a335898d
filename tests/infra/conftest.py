"""A mocked AWS for the real Terraform provider."""

from collections.abc import Iterator

import pytest

from tests.infra.pod_identity import mocked_aws


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address, with the environment that makes the provider go there."""
    with mocked_aws() as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield address
