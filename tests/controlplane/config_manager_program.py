"""What runs as `config-manager` on a hollow node? The sandbox's program, with the pod's real volumes and account."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio

from reconciler.kube import http
from reconciler.kube.credentials import TokenFile
from reconciler.sandbox.client import Client
from reconciler.sandbox.config_manager import Choice, config_manager
from reconciler.sandbox.programs import Exit
from tests.controlplane.plugin_place import PID, here, leave


class Mounted:
    """The ConfigMap and the link, in the volumes that the kubelet made."""

    def __init__(self, source: Path, link: Path) -> None:
        self._source = source
        self._link = link

    def names(self) -> set[str]:
        return {each.name for each in self._source.iterdir() if not each.name.startswith("..")}

    @property
    def target(self) -> str | None:
        if not self._link.is_symlink():
            return None
        to = self._link.readlink()
        return "" if to == Path(os.devnull) else to.name

    def point(self, name: str) -> None:
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(self._source / name if name else os.devnull)


async def run() -> Exit:
    env, place = os.environ, here()
    link, account = Path(env["CONFIG_FILE_DST"]), Path(env["SERVICE_ACCOUNT"])
    endpoint = http.Endpoint(url=env["API_SERVER"], ca_file=str(account / "ca.crt"))

    def hang_up() -> None:
        os.kill(int((link.parent / PID).read_text()), signal.SIGHUP)

    async with http.opened(endpoint, TokenFile(account / "token", anyio.current_time)) as transport:
        return await config_manager(
            env["NODE_NAME"],
            Choice.of(env),
            Mounted(Path(env["CONFIG_FILE_SRCDIR"]), link),
            Client(transport),
            hang_up,
            lambda: place.script().config_manager_error,
            hasty=place.loses(str(link)),
        )


if __name__ == "__main__":
    leave(anyio.run(run))
