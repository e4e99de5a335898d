"""What does a kubelet do with the pods bound to its node? Admits, runs, reports, stops, and confirms their deletion."""

from collections.abc import Callable
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from reconciler.runtime.transport import TransportError
from reconciler.sandbox.admission import refusal, unexpected
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.device_manager import DeviceManager
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.host import Host
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.mirror import Mirror
from reconciler.sandbox.node_status import Devices, address
from reconciler.sandbox.pod_status import pod_status, rejected

STOP_SECONDS = "sandbox/stop-seconds"
"""Pod annotation: seconds that its containers need to end after SIGTERM. Without it: 1."""

_TERMINAL = ("Succeeded", "Failed")


class KubeletPods:
    """The pod half of a kubelet. `bound` mirrors the pods of its node."""

    def __init__(
        self,
        client: Client,
        node: str,
        machine: Machine,
        host: Host,
        bound: Mirror,
        now: Callable[[], datetime],
        plugins: DeviceManager | None = None,
    ) -> None:
        self.bound = bound
        self._client = client
        self._node = node
        self._machine = machine
        self._host = host
        self._now = now
        self._plugins = plugins
        self._admitted: set[str] = set()
        self._stopping: set[str] = set()

    async def look(self, node: Json | None, devices: Devices, tasks: TaskGroup, *, anew: bool = False) -> None:
        """Go over all pods, oldest first: so the youngest are those that do not fit any more.

        `anew`: the first look of a kubelet that started. Containers that run then keep their devices.
        """
        pods = sorted(self.bound, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        present = {pod["metadata"]["uid"] for pod in pods}
        for uid in self._host.uids():
            if uid not in present:
                self._host.forget(uid)
        self._admitted &= present
        if self._plugins is not None:
            self._plugins.retain([pod["metadata"]["uid"] for pod in pods if not _over(pod)])
        for pod in pods:
            if _over(pod):
                continue
            if "deletionTimestamp" in pod["metadata"]:
                self._begin_to_stop(pod, tasks)
            elif pod["metadata"]["uid"] in self._admitted or await self._admit(pod, pods, node, devices, anew):
                self._host.start(pod, dict(self._machine.env))
                await self._report(pod)

    async def _admit(self, pod: Json, pods: list[Json], node: Json | None, devices: Devices, anew: bool) -> bool:
        uid = pod["metadata"]["uid"]
        others = [other for other in pods if other["metadata"]["uid"] in self._admitted and not _over(other)]
        no, held = None, {}
        if self._plugins is not None:
            runs = anew and self._host.get(uid) is not None
            if not runs and (why := self._plugins.allocate(pod)) is not None:
                no = unexpected(why)
            held = self._plugins.held(uid)
        no = no or refusal(pod, others, node or {}, devices, held)
        if no is None:
            self._admitted.add(uid)
            return True
        self._host.stop(uid)
        await self._write(pod, rejected(*no, self._now()))
        return False

    async def _report(self, pod: Json) -> None:
        """Write the pod's status if it is not what the server has."""
        running = self._host.get(pod["metadata"]["uid"])
        if running is not None:
            status = pod_status(pod, running, address(self._node), self._now())
            if _is_news(pod["status"], status):
                await self._write(pod, status)

    def _begin_to_stop(self, pod: Json, tasks: TaskGroup) -> None:
        uid = pod["metadata"]["uid"]
        if uid not in self._stopping:
            self._stopping.add(uid)
            tasks.start_soon(self._stop, pod)

    async def _stop(self, pod: Json) -> None:
        """SIGTERM, at most the grace period, SIGKILL; then the last status, then the object goes."""
        meta = pod["metadata"]
        needs = float((meta.get("annotations") or {}).get(STOP_SECONDS, 1.0))
        await anyio.sleep(min(needs, float(meta.get("deletionGracePeriodSeconds") or 0)))
        self._host.stop(meta["uid"])
        await self._report(pod)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        while True:
            try:
                await self._client.delete(PODS, meta["namespace"], meta["name"], options)
            except TransportError:
                await anyio.sleep(1.0)
                continue
            except Rejected as no:
                if no.status not in (404, 409):
                    await anyio.sleep(1.0)
                    continue
            break
        self._stopping.discard(meta["uid"])

    async def _write(self, pod: Json, status: Json) -> None:
        meta = pod["metadata"]
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        try:
            written = await self._client.strategic(PODS, meta["namespace"], meta["name"], change, subresource="status")
        except (Rejected, TransportError):
            return  # gone, re-created, or the server is away: the next look tells
        self.bound.note(written)


def _over(pod: Json) -> bool:
    return pod["status"].get("phase") in _TERMINAL


def _is_news(old: Json, new: Json) -> bool:
    """Whether laying `new` over `old` would change anything."""
    known = {each["type"]: each for each in old.get("conditions") or []}
    return any(known.get(each["type"]) != each for each in new["conditions"]) or any(
        old.get(part) != value for part, value in new.items() if part != "conditions"
    )
