"""How does a node come up and stay up? A kubelet registers it, syncs its status, renews its lease and runs its pods.

It speaks to the server through a Transport and nothing else, so it can keep up nodes of a real cluster as well.
"""

from collections.abc import Callable
from datetime import datetime

import anyio

from reconciler.runtime.transport import TransportError
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.device_manager import DeviceManager
from reconciler.sandbox.encoding import Json, micro_stamp
from reconciler.sandbox.host import Host
from reconciler.sandbox.kinds import LEASES, NODES, PODS
from reconciler.sandbox.kubelet_pods import KubeletPods
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.mirror import Bell, Mirror
from reconciler.sandbox.node_status import Devices, first_node, synced, zeroed

_AGAIN = 1.0
"""Seconds between attempts while the server refuses or is away."""
_LEASE_NAMESPACE = "kube-node-lease"


class Kubelet:
    """One life of a kubelet, from start to stop. The host, with its containers, outlives it."""

    def __init__(
        self,
        client: Client,
        name: str,
        machine: Machine,
        host: Host,
        now: Callable[[], datetime],
        plugins: DeviceManager | None = None,
    ) -> None:
        self.registered = anyio.Event()
        self._client = client
        self._name = name
        self._machine = machine
        self._now = now
        self._began = anyio.current_time()
        self._known_devices: set[str] = set()
        self._bell = Bell()
        self._node = Mirror(client, NODES, self._bell, fields=f"metadata.name={name}")
        bound = Mirror(client, PODS, self._bell, fields=f"spec.nodeName={name}")
        self._plugins = plugins
        self._pods = KubeletPods(client, name, machine, host, bound, now, plugins)
        host.on_change = self._bell.ring

    async def run(self) -> None:
        """Until cancelled."""
        before = await self._register()
        self.registered.set()
        async with anyio.create_task_group() as group:
            for mirror in (self._node, self._pods.bound):
                group.start_soon(mirror.run)
            for mirror in (self._node, self._pods.bound):
                await mirror.synced.wait()
            group.start_soon(self._renew_lease)
            group.start_soon(self._sync_status)
            # The pods that a restarted kubelet finds are admitted anew, against the node as it was before registering.
            await self._pods.look(before or self._here(), self.devices(), group, anew=True)
            while True:
                await self._bell.wait()
                await self._pods.look(self._here(), self.devices(), group)

    def devices(self) -> Devices:
        """What is advertised now by plugins that run without a pod."""
        fixed = self._machine.fixed_devices
        if anyio.current_time() - self._began >= self._machine.device_delay:
            return {name: (count, count) for name, count in fixed.items()}
        # As in device_manager.py: a kubelet that starts anew knows names and no devices.
        return {name: (0, 0) for name in fixed if name in self._known_devices}

    def _here(self) -> Json | None:
        return self._node.get("", self._name)

    async def _register(self) -> Json | None:
        """Make the Node, or take over the one that is there; says what was there."""
        while True:
            try:
                found = await self._client.get(NODES, "", self._name)
                if found is None:
                    await self._client.create(NODES, "", first_node(self._name, self._machine, self._now()))
                    return None
                await self._take_over(found)
                return found
            except (Rejected, TransportError):
                await anyio.sleep(_AGAIN)

    async def _take_over(self, node: Json) -> None:
        if self._machine.zeroes_at_registration:
            change = zeroed(node)
        else:
            # The device manager's checkpoint tells of devices whose plugin has not come back yet.
            self._known_devices = set(self._machine.fixed_devices) & set(node.get("status", {}).get("capacity") or {})
            change = {}
        if change:
            await self._client.strategic(NODES, "", self._name, {"status": change}, subresource="status")

    async def _sync_status(self) -> None:
        """At the start, when the node gets ready, when devices come, and then at the usual pace."""
        moments = sorted({self._began + self._machine.ready_delay, self._began + self._machine.device_delay})
        while True:
            await self._sync_once()
            now = anyio.current_time()
            coming = [moment for moment in moments if moment > now]
            await anyio.sleep(min([*(moment - now for moment in coming), self._machine.sync_every]))

    async def _sync_once(self) -> None:
        node = self._here()
        if node is None:
            return  # deleted under the kubelet: it says so in its log and makes no new one
        ready = anyio.current_time() - self._began >= self._machine.ready_delay
        devices = self.devices() | ({} if self._plugins is None else self._plugins.capacity())
        change = synced(node, self._machine, devices, ready=ready, now=self._now())
        if not change:
            return
        try:
            written = await self._client.strategic(NODES, "", self._name, {"status": change}, subresource="status")
        except (Rejected, TransportError):
            return  # the next sync tries again
        self._node.note(written)

    async def _renew_lease(self) -> None:
        while True:
            spec = {"holderIdentity": self._name, "leaseDurationSeconds": 40, "renewTime": micro_stamp(self._now())}
            try:
                await self._client.merge(LEASES, _LEASE_NAMESPACE, self._name, {"spec": spec})
            except Rejected as no:
                if no.status == 404:
                    await self._make_lease(spec)
            except TransportError:
                pass  # the next renewal tries again
            await anyio.sleep(self._machine.lease_every)

    async def _make_lease(self, spec: Json) -> None:
        try:
            await self._client.create(LEASES, _LEASE_NAMESPACE, {"metadata": {"name": self._name}, "spec": spec})
        except (Rejected, TransportError):
            return  # the next renewal tries again
