"""How is the story played on the real thing? etcd, API server, scheduler and controllers, and the sandbox's kubelets.

The device plugin's pods are the real DaemonSet's; what runs in them is the sandbox's too, and Karpenter does not run.
The controller comes with the ServiceAccount and the rights of deploy/manifests, and through the HTTP door.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from reconciler.app.process import SystemClock
from reconciler.kube.connection import connect
from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Transport
from reconciler.sandbox.client import Client
from reconciler.sandbox.device_manager import DeviceManager
from reconciler.sandbox.host import Host
from reconciler.sandbox.kinds import definition
from reconciler.sandbox.kubelet import Kubelet
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_host import PluginHost
from reconciler.sandbox.programs import Runtime
from scripts.demo import pools
from scripts.demo.stage import ADMIN, CONTROLLER, NAMESPACE, NoStage
from tests.controlplane import programs
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.waiting import eventually

MANIFESTS = Path(__file__).parents[2] / "deploy" / "manifests"
INSTALLED = ("namespace", "serviceaccount", "clusterrole", "role", "role-events", "bindings")
"""All but the Deployment and its company: the controller runs in this process."""
_KUBELETS, _PLUGINS = "kubelets", "plugins"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Up:
    """A node that is up. `plugin`: what its device plugin's pod runs on; None: its devices come without one."""

    machine: Machine
    host: Host
    plugin: PluginHost | None
    scope: anyio.CancelScope


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
        self._clock = SystemClock()
        self._up: dict[str, _Up] = {}

    @property
    def clock(self) -> Clock:
        return self._clock

    def transport(self, user: str) -> Transport:
        return self._transports[user]

    async def add_node(self, name: str, machine: Machine) -> None:
        plugin = None
        if machine.plugin is not None:
            client = Client(self._transports[_PLUGINS])
            plugin = PluginHost(name, machine.gpus, machine.plugin, self._runtime, client, client)
            self._group.start_soon(plugin.keep_volumes)
        host = Host(name, plugin or self._runtime, self._clock.now, self._group)
        await self._start(name, machine, host, plugin)

    async def restart_kubelet(self, name: str) -> None:
        up = self._up[name]
        up.scope.cancel()
        await self._start(name, replace(up.machine, zeroes_at_registration=True), up.host, up.plugin)

    @asynccontextmanager
    async def open_to_kubectl(self) -> AsyncIterator[Path]:
        yield self._plane.kubeconfig

    async def _start(self, name: str, machine: Machine, host: Host, plugin: PluginHost | None) -> None:
        devices = None
        if plugin is not None:
            devices = DeviceManager(plugin.checkpoint, anyio.current_time)
            plugin.kubelet_started(devices)
        kubelet = Kubelet(Client(self._transports[_KUBELETS]), name, machine, host, self._clock.now, devices)
        scope = anyio.CancelScope()
        self._up[name] = _Up(machine, host, plugin, scope)

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
                _PLUGINS: await opened.enter_async_context(connect(plane.kubeconfig)),
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
    _install_device_plugin(plane)
    _install_karpenter(plane)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    eventually(lambda: plane.api.request("GET", account).status == 200, "pods can be made in the namespace")
    return plane.kubeconfig_for_service_account(NAMESPACE, CONTROLLER)


def _install_device_plugin(plane: ControlPlane) -> None:
    """NVIDIA's chart, its profiles, and the right to see those. Its programs run on the sandbox's kubelets."""
    chart, core = pools.chart(), f"/api/v1/namespaces/{pools.chart().namespace}"
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": chart.namespace}})
    plane.api.post(f"{core}/serviceaccounts", {"metadata": {"name": chart.flavour.account}})
    plane.api.post(f"{core}/configmaps", {"metadata": {"name": chart.config_map}, "data": dict(pools.PROFILES)})
    plane.kubectl("apply", "-k", str(MANIFESTS / "sharing"))
    plane.api.post(f"/apis/apps/v1/namespaces/{chart.namespace}/daemonsets", chart.daemon_set())


def _install_karpenter(plane: ControlPlane) -> None:
    """Karpenter's own definitions of its kinds where they are there, else ones that take anything."""
    match programs.find(programs.KARPENTER):
        case programs.Programs() as found:
            for path in sorted((Path(found.folder) / "crds" / "aws").glob("karpenter.sh_*.yaml")):
                plane.kubectl("apply", "--server-side", "-f", str(path))
        case programs.Buildable() | programs.Unavailable():
            for kind in pools.KARPENTER:
                plane.kubectl("apply", "-f", "-", text=json.dumps(definition(kind)))
    for kind in pools.KARPENTER:
        plane.kubectl("wait", "--for=condition=Established", f"crd/{kind.resource}", "--timeout=30s")


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
