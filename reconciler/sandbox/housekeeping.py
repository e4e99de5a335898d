"""What does the cluster tidy by itself? Taints of nodes ready or not, pods without a node, objects without an owner."""

from collections.abc import Callable
from datetime import datetime, timedelta

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.defaults import NOT_READY, UNSCHEDULABLE
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICASETS, Kind
from reconciler.sandbox.mirror import Bell, Mirror, Mirrors
from reconciler.sandbox.owning import controller_of

_QUARANTINE = timedelta(seconds=40)
"""How long a pod may be bound to a node that is not there before it is removed (podgc)."""


class NodeLifecycle:
    """Keeps the taints of nodes that are not ready or cordoned. Heartbeats are believed for ever."""

    def __init__(self, client: Client, mirrors: Mirrors) -> None:
        self._client = client
        self._bell = Bell()
        self._nodes = mirrors.of(NODES, self._bell)

    async def run(self) -> None:
        await attend(self._bell, (self._nodes,), self._pass)

    async def _pass(self) -> None:
        for node in self._nodes:
            taints = node["spec"].get("taints") or []
            ours = [key for key, holds in ((NOT_READY, _not_ready(node)), (UNSCHEDULABLE, _cordoned(node))) if holds]
            over = {NOT_READY, UNSCHEDULABLE} - {*ours}
            there = {taint["key"] for taint in taints}
            wanted = [taint for taint in taints if taint["key"] not in over]
            wanted += [{"key": key, "effect": "NoSchedule"} for key in ours if key not in there]
            if wanted != taints:
                meta = node["metadata"]
                change = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": {"taints": wanted or None}}
                self._nodes.note(await self._client.merge(NODES, "", meta["name"], change))


def _not_ready(node: Json) -> bool:
    """A node that says nothing of Ready counts as ready."""
    conditions = node.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] != "True" for each in conditions)


def _cordoned(node: Json) -> bool:
    return bool(node["spec"].get("unschedulable"))


class GarbageCollector:
    """Removes pods of nodes that are gone, and what Jobs, ReplicaSets and Deployments leave behind."""

    def __init__(self, client: Client, mirrors: Mirrors, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._bell = Bell()
        self._nodes = mirrors.of(NODES, self._bell)
        self._pods = mirrors.of(PODS, self._bell)
        self._sets = mirrors.of(REPLICASETS, self._bell)
        jobs, deployments = mirrors.of(JOBS, self._bell), mirrors.of(DEPLOYMENTS, self._bell)
        daemons = mirrors.of(DAEMONSETS, self._bell)
        self._owners = {"Job": jobs, "ReplicaSet": self._sets, "Deployment": deployments, "DaemonSet": daemons}
        self._orphaned: dict[str, datetime] = {}

    async def run(self) -> None:
        await attend(self._bell, (self._nodes, self._pods, *self._owners.values()), self._pass)

    async def _pass(self) -> float | None:
        for kind, dependants in ((PODS, self._pods), (REPLICASETS, self._sets)):
            for each in dependants:
                await self._without_owner(kind, dependants, each)
        return await self._without_node()

    async def _without_owner(self, kind: Kind, mirror: Mirror, obj: Json) -> None:
        owner, meta = controller_of(obj), obj["metadata"]
        owners = None if owner is None else self._owners.get(owner["kind"])
        if owner is None or owners is None or "deletionTimestamp" in meta:
            return
        found = owners.get(meta["namespace"], owner["name"])
        if found is None or found["metadata"]["uid"] != owner["uid"]:
            # The mirror may lag behind, so ask once more before anything is removed.
            found = await self._client.get(owners.kind, meta["namespace"], owner["name"])
        if found is None or found["metadata"]["uid"] != owner["uid"]:
            await self._remove(kind, mirror, obj, {})

    async def _without_node(self) -> float | None:
        """Pods whose node has been away for the whole quarantine; says when the next is due."""
        names = {node["metadata"]["name"] for node in self._nodes}
        orphans = {
            pod["metadata"]["uid"]: pod for pod in self._pods if pod["spec"].get("nodeName", "") not in {*names, ""}
        }
        self._orphaned = {uid: self._orphaned.get(uid, self._now()) for uid in orphans}
        for uid, since in list(self._orphaned.items()):
            if self._now() - since >= _QUARANTINE:
                await self._remove(PODS, self._pods, orphans[uid], {"gracePeriodSeconds": 0})
                del self._orphaned[uid]
        first = min(self._orphaned.values(), default=None)
        return None if first is None else (first + _QUARANTINE - self._now()).total_seconds()

    async def _remove(self, kind: Kind, mirror: Mirror, obj: Json, options: Json) -> None:
        meta = obj["metadata"]
        held = {"preconditions": {"uid": meta["uid"]}, "propagationPolicy": "Background", **options}
        try:
            left = await self._client.delete(kind, meta["namespace"], meta["name"], held)
        except Rejected as no:
            if no.status != 409:
                raise
            return
        if left is not None and left["kind"] == obj["kind"] and "deletionTimestamp" in left["metadata"]:
            mirror.note(left)
        else:
            mirror.forget(obj)
