"""How are the API server and AWS reached, and what is kept of their answers?"""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import field_validator

from reconciler.settings.duration import Duration
from reconciler.settings.fields import Section, knob


class KubernetesSettings(Section):
    """The API server, and where the controller lives in the cluster."""

    kubeconfig: Path | None = knob(
        None,
        "Kubeconfig file, for runs outside a cluster. Empty: the pod's own service account, else ~/.kube/config."
        " KUBECONFIG counts when this is not set.",
        example="/home/me/.kube/config",
        allowed="the path of a file, or empty",
    )
    context: str | None = knob(None, "Context within the kubeconfig. Empty: its current context.", example="staging-eu")
    namespace: str = knob(
        "gpu-reconciler",
        "Namespace of the controller: its Lease, its probe Jobs and the catalog ConfigMap lie there.",
        example="gpu-reconciler",
        pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
        allowed="a namespace's name: at most 63 lower-case letters, digits and '-'",
    )
    request_timeout: Duration = knob(
        timedelta(seconds=60),
        "How long one answer may take, such as a page of the first sync. Writes have 10 s at most.",
        example="60s",
        ge=timedelta(seconds=1),
        le=timedelta(minutes=5),
    )
    watch_timeout: Duration = knob(
        timedelta(minutes=5),
        "How long the API server may keep one watch open before it is opened anew.",
        example="5m",
        ge=timedelta(seconds=10),
        le=timedelta(hours=1),
    )
    watch_silence: Duration = knob(
        timedelta(seconds=90),
        "After so much silence (bookmarks come each minute) a watch counts as stalled; it is opened anew"
        " and goes on from the last version.",
        example="90s",
        ge=timedelta(seconds=65),  # a bookmark comes every 60 s (apiserver, cacher, bookmarkFrequency)
        le=timedelta(minutes=30),
    )
    page_size: int = knob(
        500,
        "Objects in a page, where the server cannot stream the first sync.",
        unit="objects",
        example=500,
        ge=10,
        le=5000,
    )


class AwsSettings(Section):
    """EC2's answers about instance types."""

    enabled: bool = knob(
        True, "Whether EC2 is asked at all. Without it figures are learned or built-in.", example="true"
    )
    region: str | None = knob(
        None,
        "Region to ask. Empty: AWS_REGION, then AWS_DEFAULT_REGION, then instance metadata, then the nodes' labels.",
        example="eu-west-1",
        pattern=r"^[a-z]{2,4}(-[a-z]+)+-\d+$",
        allowed="a region's name such as eu-west-1, or empty",
    )
    endpoint_url: str | None = knob(
        None,
        "Another address of the EC2 API: a VPC endpoint, or a mock.",
        example="https://ec2.eu-west-1.amazonaws.com",
        allowed="an http or https URL without user and password, or empty",
    )
    role_arn: str | None = knob(
        None,
        "Role to assume for asking EC2, on top of the pod's own credentials. Most set-ups need none.",
        example="arn:aws:iam::123456789012:role/gpu-reconciler",
        pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$",
        allowed="a role's ARN, or empty",
    )
    timeout: Duration = knob(
        timedelta(seconds=10),
        "How long connecting, and each answer, may take.",
        example="10s",
        ge=timedelta(seconds=1),
        le=timedelta(minutes=2),
    )
    max_attempts: int = knob(
        3, "How often a call is tried, the first one included.", unit="times", example=3, ge=1, le=10
    )

    @field_validator("endpoint_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.username or parts.password:
            raise ValueError("it holds a user or a password: credentials come from the pod, never from settings")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("it is no http or https URL")
        return value


class CatalogSettings(Section):
    """What is remembered of instance types beyond the process's life."""

    ec2_ttl: Duration = knob(
        timedelta(hours=12),
        "How old EC2's answer on a type may get before it is asked again.",
        example="12h",
        ge=timedelta(minutes=5),
        le=timedelta(days=30),
    )
    ec2_retry: Duration = knob(
        timedelta(minutes=10),
        "How soon EC2 is asked again about a type that it could not be asked about.",
        example="10m",
        ge=timedelta(seconds=10),
        le=timedelta(days=1),
    )
