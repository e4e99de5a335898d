"""How is the story played with nothing but Python? On the embedded cluster, in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio

from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Transport
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.http import HttpServer
from reconciler.sandbox.kinds import NAMESPACES
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.programs import Runtime
from scripts.demo import pools
from scripts.demo.stage import ADMIN, NAMESPACE


class SandboxStage:
    """See stage.Stage."""

    title = "the embedded cluster (reconciler/sandbox)"

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self._folder = folder

    @property
    def clock(self) -> Clock:
        return self.sandbox.clock

    def transport(self, user: str) -> Transport:
        return self.sandbox.transport(user)

    async def add_node(self, name: str, machine: Machine) -> None:
        await self.sandbox.add_node(name, machine)

    async def restart_kubelet(self, name: str) -> None:
        await self.sandbox.restart_kubelet(name, zero=True)

    @asynccontextmanager
    async def open_to_kubectl(self) -> AsyncIterator[Path]:
        sandbox = self.sandbox
        async with HttpServer(sandbox.api, {}, anonymous=ADMIN, faults=sandbox.faults, record=sandbox.record) as server:
            path = self._folder / "kubeconfig"
            await anyio.Path(path).write_text(server.kubeconfig(ADMIN))
            yield path


@asynccontextmanager
async def sandbox_stage(runtime: Runtime, folder: Path) -> AsyncIterator[SandboxStage]:
    """The embedded cluster, on real time. `runtime` runs the containers; `folder` is for its files."""
    async with Sandbox(start=datetime.now(UTC), runtime=runtime) as sandbox:
        await sandbox.admin.create(NAMESPACES, "", {"metadata": {"name": NAMESPACE}})
        chart = pools.chart()
        await sandbox.install_device_plugin(chart)
        await sandbox.put_configmap(chart.namespace, chart.config_map, pools.PROFILES)
        await sandbox.install_karpenter(pools.KARPENTER)
        yield SandboxStage(sandbox, folder)
