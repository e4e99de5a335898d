"""How is the story played on the real thing? etcd, API server, scheduler and controllers, and the sandbox's kubelets.

The controller comes with the ServiceAccount and the rights of deploy/manifests, and through the HTTP door.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from reconciler.kube.connection import connect
from reconciler.runtime.transport import Transport
from reconciler.sandbox.client import Client
from reconciler.sandbox.host import Host
from reconciler.sandbox.kubelet import Kubelet
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.programs import Runtime
from scripts.demo.stage import ADMIN, CONTROLLER, NAMESPACE, NoStage
from tests.controlplane import programs
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.waiting import eventually

MANIFESTS = Path(__file__).parents[2] / "deploy" / "manifests"
INSTALLED = ("namespace", "serviceaccount", "clusterrole", "role", "role-events", "bindings")
"""All but the Deployment and its company: the controller runs in this process."""
_KUBELETS = "kubelets"

T = TypeVar("T")


class RealStage:
    """See stage.Stage."""

    title = "a real control plane"

    def __init__(
        self, plane: ControlPlane, transports: dict[str, Transport], runtime: Runtime, group: TaskGroup
    ) -> None:
        self._plane = plane
        self._transports = transports
        self._runtime = runtime
        self._group = group
        self._up: dict[str, tuple[Machine, Host, anyio.CancelScope]] = {}

    def transport(self, user: str) -> Transport:
        return self._transports[user]

    async def add_node(self, name: str, machine: Machine) -> None:
        await self._start(name, machine, Host(name, self._runtime, _now, self._group))

    async def restart_kubelet(self, name: str) -> None:
        machine, host, scope = self._up[name]
        scope.cancel()
        await self._start(name, replace(machine, zeroes_at_registration=True), host)

    @asynccontextmanager
    async def open_to_kubectl(self) -> AsyncIterator[Path]:
        yield self._plane.kubeconfig

    async def _start(self, name: str, machine: Machine, host: Host) -> None:
        kubelet = Kubelet(Client(self._transports[_KUBELETS]), name, machine, host, _now)
        scope = anyio.CancelScope()
        self._up[name] = machine, host, scope

        async def live() -> None:
            with scope:
                await kubelet.run()

        self._group.start_soon(live)
        await kubelet.registered.wait()


@asynccontextmanager
async def real_stage(runtime: Runtime, folder: Path) -> AsyncIterator[RealStage]:
    """A control plane of its own. Raises NoStage where its programs are not there and cannot be built."""
    plane = ControlPlane(await _in_thread(_programs), folder / "control-plane")
    await _in_thread(plane.start)
    try:
        kubeconfig = await _in_thread(lambda: _install(plane))
        async with AsyncExitStack() as opened, anyio.create_task_group() as group:
            transports: dict[str, Transport] = {
                # Each holds its own watches, and one transport has a limited number of connections.
                ADMIN: await opened.enter_async_context(connect(plane.kubeconfig)),
                _KUBELETS: await opened.enter_async_context(connect(plane.kubeconfig)),
                CONTROLLER: await opened.enter_async_context(connect(kubeconfig)),
            }
            yield RealStage(plane, transports, runtime, group)
            group.cancel_scope.cancel()
    finally:
        plane.stop()


def _programs() -> programs.Programs:
    match programs.find():
        case programs.Programs() as found:
            return found
        case programs.Buildable():
            return programs.build()
        case programs.Unavailable(because):
            raise NoStage(because)


def _install(plane: ControlPlane) -> Path:
    """Give the controller its account and rights; its kubeconfig."""
    for name in INSTALLED:
        plane.kubectl("apply", "-f", str(MANIFESTS / f"{name}.yaml"))
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    eventually(lambda: plane.api.request("GET", account).status == 200, "pods can be made in the namespace")
    return plane.kubeconfig_for_service_account(NAMESPACE, CONTROLLER)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


def _now() -> datetime:
    return datetime.now(UTC)
