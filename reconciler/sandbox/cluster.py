"""How does all of it become one cluster? Server, controllers, scheduler and nodes in one task group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import anyio

from reconciler.runtime.clock import LoopClock
from reconciler.sandbox.api import Api
from reconciler.sandbox.budgets import BudgetController
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.daemonsets import DaemonSetController
from reconciler.sandbox.deployments import DeploymentController
from reconciler.sandbox.device_manager import DeviceManager
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.faults import Faults
from reconciler.sandbox.host import Host
from reconciler.sandbox.housekeeping import GarbageCollector, NodeLifecycle
from reconciler.sandbox.jobs import JobController
from reconciler.sandbox.kinds import (
    CONFIGMAPS,
    DAEMONSETS,
    DEFINITIONS,
    NAMESPACES,
    NODECLAIMS,
    NODEPOOLS,
    NODES,
    PODS,
    Kind,
    definition,
)
from reconciler.sandbox.kubelet import Kubelet
from reconciler.sandbox.label_writer import LabelWriter, write_again
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.memory import MemoryTransport
from reconciler.sandbox.mirror import Mirrors
from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_host import PluginHost
from reconciler.sandbox.plugin_script import PluginScript
from reconciler.sandbox.programs import Pretend, Runtime
from reconciler.sandbox.record import Record
from reconciler.sandbox.scheduler import Scheduler
from reconciler.sandbox.store import Store

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
ADMIN = "admin"


@dataclass(slots=True)
class _Up:
    """A node that is up: its machine, its containers, and what ends its kubelet."""

    machine: Machine
    host: Host
    kubelet: Kubelet
    scope: anyio.CancelScope
    plugin: PluginHost | None


class Sandbox:
    """A running cluster. Everything in it ends with its context.

    async with Sandbox() as sandbox:
        await sandbox.add_node("gpu-1")
        transport = sandbox.transport("gpu-reconciler")
    """

    def __init__(
        self,
        *,
        start: datetime = START,
        seed: int = 0,
        runtime: Runtime | None = None,
        history: int = 4096,
        controllers: bool = True,
    ) -> None:
        self._with_controllers = controllers
        self.clock = LoopClock(start)
        self.store = Store(self.clock.now, seed=seed, history=history)
        self.api = Api(self.store)
        self.faults = Faults(seed=seed, on_change=self.store.wake_all)
        self.record = Record()
        self.admin = self.client(ADMIN)
        self._runtime = runtime if runtime is not None else Pretend()
        self._group = anyio.create_task_group()
        self._up: dict[str, _Up] = {}
        self._plugins: dict[str, anyio.CancelScope] = {}

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes whose kubelet runs."""
        return list(self._up)

    def transport(self, user: str) -> MemoryTransport:
        """The server as this user sees it: with faults, and on record."""
        return MemoryTransport(self.api, user, faults=self.faults, record=self.record)

    def client(self, user: str, manager: str = "") -> Client:
        """A client of this user, who writes under the last part of its name unless told (`admin` is `kubectl`)."""
        known = {ADMIN: "kubectl"} if not user.startswith("system:node:") else {user: "kubelet"}
        return Client(self.transport(user), manager or known.get(user, user.rpartition(":")[2]))

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        for namespace in ("default", "kube-system", "kube-node-lease"):
            await self.admin.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        if self._with_controllers:
            self._start_controllers()
        return self

    def _start_controllers(self) -> None:
        now, client = self.clock.now, self.client("system:kube-controller-manager")
        mirrors = Mirrors(client)
        controllers = (
            NodeLifecycle(client, mirrors),
            GarbageCollector(client, mirrors, now),
            JobController(client, mirrors, now),
            DeploymentController(client, mirrors),
            DaemonSetController(client, mirrors),
            BudgetController(client, mirrors, now),
            Scheduler(self.client("system:kube-scheduler"), mirrors, now),
        )
        for each in (mirrors, *controllers):
            self._group.start_soon(each.run)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._group.__aexit__(kind, error, trace)
        # An error of the body goes out as it is; one of a controller comes as a group.
        await self._group.__aexit__(None, None, None)
        return None

    async def add_node(self, name: str, machine: Machine | None = None, *, runtime: Runtime | None = None) -> None:
        """Start a machine with a kubelet; returns when its Node is registered (it is Ready a little later)."""
        machine = machine if machine is not None else Machine()
        runtime = runtime if runtime is not None else self._runtime
        plugin = None if machine.plugin is None else self._plug(name, machine.gpus, machine.plugin, runtime)
        host = Host(name, plugin or runtime, self.clock.now, self._group)
        await self._start(name, machine, host, plugin)

    def _plug(self, node: str, gpus: int, script: PluginScript, runtime: Runtime) -> PluginHost:
        """Make the machine ready for a device plugin's pod."""
        pods = self.client("system:serviceaccount:nvidia-device-plugin:nvidia-device-plugin-service-account")
        plugin = PluginHost(node, gpus, script, runtime, self.client(f"system:node:{node}"), pods)
        self._plugins[node] = anyio.CancelScope()
        self._group.start_soon(_within, self._plugins[node], plugin.keep_volumes)
        return plugin

    def plugin(self, name: str) -> PluginHost:
        """What the device plugin of a node runs on; its `script` may be changed at any time."""
        plugin = self._up[name].plugin
        assert plugin is not None, f"{name} was added without a plugin script"
        return plugin

    async def restart_kubelet(self, name: str, *, zero: bool | None = None, **changes: Any) -> None:
        """Stop the kubelet and start it on the same machine, where containers go on. `changes` are the Machine's."""
        up = self.stop_kubelet(name)
        zeroes = up.machine.zeroes_at_registration if zero is None else zero
        await self._start(name, replace(up.machine, zeroes_at_registration=zeroes, **changes), up.host, up.plugin)

    def stop_kubelet(self, name: str) -> _Up:
        """Stop the kubelet alone: the Node stays as it is, and its containers run on."""
        up = self._up.pop(name)
        up.scope.cancel()
        if up.plugin is not None:
            up.plugin.kubelet_stopped()
        return up

    async def delete_node(self, name: str) -> None:
        """The machine is terminated: its kubelet, its containers and its Node are gone."""
        if name in self._up:
            up = self.stop_kubelet(name)
            for uid in up.host.uids():
                up.host.forget(uid)
        if (plugin := self._plugins.pop(name, None)) is not None:
            plugin.cancel()
        await self.admin.delete(NODES, "", name)

    async def replace_node(self, name: str, machine: Machine | None = None) -> None:
        """Another machine under the same name, as when an instance is replaced."""
        machine = machine if machine is not None else self._up[name].machine
        await self.delete_node(name)
        await self.add_node(name, machine)

    async def install_karpenter(self, kinds: tuple[Kind, ...] = (NODECLAIMS, NODEPOOLS)) -> None:
        """Karpenter's kinds appear; deleting their CustomResourceDefinitions lets them go."""
        for kind in kinds:
            await self.admin.create(DEFINITIONS, "", definition(kind))

    async def install_device_plugin(self, chart: PluginChart | None = None) -> None:
        """NVIDIA's chart, or the GPU Operator's share of it: serves nodes whose machine has a plugin script."""
        chart = chart if chart is not None else PluginChart()
        await self.admin.create(NAMESPACES, "", {"metadata": {"name": chart.namespace}})
        if chart.configs is not None and not chart.external:
            await self.put_configmap(chart.namespace, chart.config_map, chart.configs)
        await self.admin.create(DAEMONSETS, chart.namespace, chart.daemon_set())

    def contest(self, writer: LabelWriter) -> anyio.CancelScope:
        """Somebody writes a label again and again, until the scope is cancelled."""
        scope = anyio.CancelScope()
        client = self.client(f"system:serviceaccount:others:{writer.manager}", writer.manager)
        self._group.start_soon(_within, scope, lambda: write_again(client, writer))
        return scope

    async def put_configmap(self, namespace: str, name: str, data: Mapping[str, str]) -> Json:
        body = {"metadata": {"name": name}, "data": dict(data)}
        return await self.admin.create(CONFIGMAPS, namespace, body)

    async def evict(self, namespace: str, name: str, uid: str | None = None) -> int:
        """Evict a pod as an administrator would; the HTTP status."""
        held = {} if uid is None else {"deleteOptions": {"preconditions": {"uid": uid}}}
        body = {
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"name": name, "namespace": namespace},
            **held,
        }
        try:
            await self.admin.create(PODS, namespace, body, name=name, subresource="eviction")
        except Rejected as no:
            return no.status
        return 201

    async def _start(self, name: str, machine: Machine, host: Host, plugin: PluginHost | None) -> None:
        devices = None
        if plugin is not None:
            devices = DeviceManager(plugin.checkpoint, anyio.current_time)
            plugin.kubelet_started(devices)
        kubelet = Kubelet(self.client(f"system:node:{name}"), name, machine, host, self.clock.now, devices)
        scope = anyio.CancelScope()
        self._up[name] = _Up(machine, host, kubelet, scope, plugin)
        self._group.start_soon(_within, scope, kubelet.run)
        await kubelet.registered.wait()


async def _within(scope: anyio.CancelScope, run: Callable[[], Any]) -> None:
    with scope:
        await run()


async def eventually(question: Callable[[], object], what: str, seconds: float = 60.0, every: float = 0.1) -> None:
    """Wait until the answer is true. Raises AssertionError with `what` and the last answer after so many seconds."""
    deadline = anyio.current_time() + seconds
    while not (answer := question()):
        if anyio.current_time() >= deadline:
            raise AssertionError(f"not within {seconds:g} s: {what} (last: {answer!r})")
        await anyio.sleep(every)
