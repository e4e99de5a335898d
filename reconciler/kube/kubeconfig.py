"""What does a kubeconfig say? Read by kubernetes_asyncio, which knows contexts, exec plug-ins and merged files.

It is imported only here and only when asked for: it costs 60 MB of memory, and in a cluster nobody needs it.
"""

import contextlib
import os
from pathlib import Path
from typing import Any, cast

import anyio

from reconciler.kube.credentials import Credentials, Fixed
from reconciler.kube.http import Endpoint, UnusableConfig
from reconciler.runtime.transport import TransportError

PLUGIN_TIME = 60.0
"""Seconds for an exec plug-in; people may have to touch a key."""


async def load(path: Path | None, context: str | None) -> tuple[Endpoint, Credentials]:
    """The API server and who we are to it. Raises UnusableConfig, and TransportError when a plug-in fails."""
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import kube_config

    kube_config.logger.disabled = True  # it also logs what it raises
    files = str(path) if path is not None else str(kube_config.KUBE_CONFIG_DEFAULT_LOCATION)
    if not _any_file(files):
        raise UnusableConfig(
            f"no kubeconfig at {files}, and this is no pod with a service account: "
            "set kubernetes.kubeconfig (GPU_RECONCILER_KUBERNETES__KUBECONFIG) or KUBECONFIG"
        )
    what = f"the kubeconfig {files}"
    configuration: Any = Configuration()
    configuration.host = ""
    try:
        with anyio.fail_after(PLUGIN_TIME):
            loader: Any = await kube_config.load_kube_config(
                config_file=files,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
    except TimeoutError:
        raise TransportError(f"{what}: the exec plug-in gave no answer within {PLUGIN_TIME:g} s") from None
    except Exception as error:
        # The loader raises whatever a missing key, an odd type or a failing plug-in leads to, its own class included.
        why = str(error) or "its context, or the context's cluster, is empty"
        raise UnusableConfig(f"{what} cannot be used: {why}") from error
    if not configuration.host:
        raise UnusableConfig(f"{what} names no server for this context")
    endpoint = Endpoint(
        url=str(configuration.host),
        ca_file=configuration.ssl_ca_cert,
        cert_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify=bool(configuration.verify_ssl),
        server_name=configuration.tls_server_name or None,
        proxy=configuration.proxy or None,
    )
    header = str(configuration.api_key.get("BearerToken", "")).strip()
    return endpoint, PlugIn(loader) if _has_plugin(loader) else Fixed(header)


def _any_file(paths: str) -> bool:
    """KUBECONFIG may name several, which are merged."""
    return any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path)


def _has_plugin(loader: Any) -> bool:
    return loader._user is not None and "exec" in loader._user and hasattr(loader, "token")


class PlugIn:
    """An exec plug-in, such as `aws eks get-token`: run again when its token has ended or was refused."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._turn = anyio.Lock()

    async def authorization(self) -> str:
        async with self._turn:
            await self._run()
        return cast(str, self._loader.token)

    async def renewed(self, refused: str) -> bool:
        async with self._turn:
            if self._loader.token == refused:
                with contextlib.suppress(AttributeError):
                    del self._loader.exec_plugin_expiry
                await self._run()
        return bool(self._loader.token != refused)

    async def _run(self) -> None:
        """Runs the plug-in only when the time that it named has come (less five minutes)."""
        try:
            with anyio.fail_after(PLUGIN_TIME):
                await self._loader.load_from_exec_plugin()
        except TimeoutError:
            raise TransportError(f"the kubeconfig's exec plug-in gave no answer within {PLUGIN_TIME:g} s") from None
        except Exception as error:
            # Whatever a child process and its output can lead to; the next request tries again.
            raise TransportError(f"the kubeconfig's exec plug-in failed: {error}") from error
