"""Which pods does a DaemonSet want? One on every node that its template suits; one that is gone is made again."""

import copy

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.eviction import is_ready
from reconciler.sandbox.fitting import affine, tolerates
from reconciler.sandbox.kinds import DAEMONSETS, NODES, PODS
from reconciler.sandbox.mirror import Bell, Mirrors
from reconciler.sandbox.owning import controlled, pod_from_template

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""What every daemon tolerates (AddOrUpdateDaemonPodTolerations). Startup taints of others are not among it."""


class DaemonSetController:
    """One pod to a node, bound by the scheduler. A new template is left to whoever deletes the pods."""

    def __init__(self, client: Client, mirrors: Mirrors) -> None:
        self._client = client
        self._bell = Bell()
        self._sets = mirrors.of(DAEMONSETS, self._bell)
        self._nodes = mirrors.of(NODES, self._bell)
        self._pods = mirrors.of(PODS, self._bell)

    async def run(self) -> None:
        await attend(self._bell, (self._sets, self._nodes, self._pods), self._pass)

    async def _pass(self) -> None:
        owned = controlled(self._pods)
        for each in self._sets:
            if "deletionTimestamp" not in each["metadata"]:
                await self._reconcile(each, owned.get(each["metadata"]["uid"], []))

    async def _reconcile(self, daemon_set: Json, pods: list[Json]) -> None:
        spec = _with_tolerations(daemon_set["spec"]["template"]["spec"])
        nodes = {node["metadata"]["name"]: node for node in self._nodes}
        wanted = [name for name in sorted(nodes) if _runs(spec, nodes[name])]
        by_node: dict[str, list[Json]] = {}
        for pod in pods:
            by_node.setdefault(_node_of(pod), []).append(pod)
        for name in wanted:
            if not by_node.get(name):
                await self._make(daemon_set, spec, name)
        for name, there in by_node.items():
            stays = name in nodes and _stays(spec, nodes[name])
            for pod in there:
                if "deletionTimestamp" not in pod["metadata"] and (not stays or _ended(pod)):
                    await self._remove(pod)
        await self._count(daemon_set, wanted, by_node)

    async def _make(self, daemon_set: Json, spec: Json, node: str) -> None:
        template = {**daemon_set["spec"]["template"], "spec": _on(spec, node)}
        pod = pod_from_template(daemon_set, template)
        self._pods.note(await self._client.create(PODS, daemon_set["metadata"]["namespace"], pod))

    async def _remove(self, pod: Json) -> None:
        meta = pod["metadata"]
        gone = await self._client.delete(PODS, meta["namespace"], meta["name"], {"preconditions": {"uid": meta["uid"]}})
        if gone is not None:
            self._pods.note(gone)

    async def _count(self, daemon_set: Json, wanted: list[str], by_node: dict[str, list[Json]]) -> None:
        meta = daemon_set["metadata"]
        current = [name for name in wanted if by_node.get(name)]
        ready = sum(any(is_ready(pod) for pod in by_node[name]) for name in current)
        status = {
            "currentNumberScheduled": len(current),
            "desiredNumberScheduled": len(wanted),
            "numberAvailable": ready,
            "numberMisscheduled": 0,
            "numberReady": ready,
            "numberUnavailable": len(wanted) - ready,
            "observedGeneration": meta["generation"],
            "updatedNumberScheduled": len(current),
        }
        if status != daemon_set["status"]:
            change = {"status": status}
            self._sets.note(
                await self._client.merge(DAEMONSETS, meta["namespace"], meta["name"], change, subresource="status")
            )


def _with_tolerations(spec: Json) -> Json:
    own = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    return {**copy.deepcopy(spec), "tolerations": [*(spec.get("tolerations") or []), *own]}


def _runs(spec: Json, node: Json) -> bool:
    """Whether a node without one gets a daemon (NodeShouldRunDaemonPod). A node not ready yet has to wait."""
    return affine(spec, node) and _tolerates(spec, node, "NoSchedule", "NoExecute")


def _stays(spec: Json, node: Json) -> bool:
    """Whether a daemon that runs may go on: a taint that only forbids scheduling does not remove it."""
    return affine(spec, node) and _tolerates(spec, node, "NoExecute")


def _tolerates(spec: Json, node: Json, *effects: str) -> bool:
    taints = [each for each in node["spec"].get("taints") or [] if each.get("effect") in effects]
    return all(tolerates(spec["tolerations"], taint) for taint in taints)


def _on(spec: Json, node: str) -> Json:
    """The spec with its affinity narrowed to one node (ReplaceDaemonSetPodNodeNameNodeAffinity)."""
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}
    return {**spec, "affinity": {**(spec.get("affinity") or {}), "nodeAffinity": required}}


def _node_of(pod: Json) -> str:
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(pod["spec"].get("nodeName") or terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def _ended(pod: Json) -> bool:
    return pod["status"].get("phase") in ("Failed", "Succeeded")
