"""Which way leads to the API server? The kubeconfig that was asked for, the pod's own account, or ~/.kube/config."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from reconciler.kube import http, kubeconfig
from reconciler.kube.credentials import Credentials, TokenFile
from reconciler.kube.http import Endpoint, HttpTransport

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts the pod's token and the cluster's CA."""

KUBERNETES_SETS = os.environ  # noqa: TID251 - the kubelet sets these two, no person does: they are no settings


@asynccontextmanager
async def connect(
    path: Path | None = None,
    context: str | None = None,
    *,
    account: Path = ACCOUNT,
    environ: Mapping[str, str] = KUBERNETES_SETS,
) -> AsyncIterator[HttpTransport]:
    """A transport for the length of the block. Raises UnusableConfig, and TransportError when a plug-in fails."""
    inside = in_cluster(account, environ) if path is None and context is None else None
    endpoint, credentials = inside if inside is not None else await kubeconfig.load(path, context)
    async with http.opened(endpoint, credentials) as transport:
        yield transport


def in_cluster(account: Path, environ: Mapping[str, str]) -> tuple[Endpoint, Credentials] | None:
    """The pod's own account; None outside a pod, or in one without a token."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    token, ca = account / "token", account / "ca.crt"
    if not host or not token.exists():
        return None
    address = f"[{host}]" if ":" in host else host
    endpoint = Endpoint(url=f"https://{address}:{port}", ca_file=str(ca) if ca.exists() else None)
    return endpoint, TokenFile(token, anyio.current_time)
