"""How many pods does a Deployment want, and which? Deployments keep one ReplicaSet, ReplicaSets keep their pods."""

import hashlib

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client
from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.eviction import is_ready
from reconciler.sandbox.kinds import DEPLOYMENTS, PODS, REPLICASETS, Kind
from reconciler.sandbox.mirror import Bell, Mirror, Mirrors
from reconciler.sandbox.owning import controlled, pod_from_template, reference


class DeploymentController:
    """Both controllers in one. A new template replaces all pods at once: roll-outs are not this cluster's business."""

    def __init__(self, client: Client, mirrors: Mirrors) -> None:
        self._client = client
        self._bell = Bell()
        self._deployments = mirrors.of(DEPLOYMENTS, self._bell)
        self._sets = mirrors.of(REPLICASETS, self._bell)
        self._pods = mirrors.of(PODS, self._bell)

    async def run(self) -> None:
        await attend(self._bell, (self._deployments, self._sets, self._pods), self._pass)

    async def _pass(self) -> None:
        sets, pods = controlled(self._sets), controlled(self._pods)
        for deployment in self._deployments:
            await self._deploy(deployment, sets.get(deployment["metadata"]["uid"], []))
        for each in self._sets:
            await self._replicate(each, pods.get(each["metadata"]["uid"], []))

    async def _deploy(self, deployment: Json, sets: list[Json]) -> None:
        meta, spec = deployment["metadata"], deployment["spec"]
        mark = hashlib.sha256(encode(spec["template"])).hexdigest()[:10]
        name = f"{meta['name']}-{mark}"
        for each in sets:
            wanted = spec["replicas"] if each["metadata"]["name"] == name else 0
            if each["spec"]["replicas"] != wanted:
                change = {"spec": {"replicas": wanted}}
                self._sets.note(
                    await self._client.merge(REPLICASETS, meta["namespace"], each["metadata"]["name"], change)
                )
        current = next((each for each in sets if each["metadata"]["name"] == name), None)
        if current is None:
            fresh = _replica_set(deployment, name, mark)
            self._sets.note(await self._client.create(REPLICASETS, meta["namespace"], fresh))
            return
        counts = {key: current["status"].get(key, 0) for key in ("replicas", "readyReplicas", "availableReplicas")}
        counts["updatedReplicas"] = counts["replicas"]
        await self._status(DEPLOYMENTS, self._deployments, deployment, counts)

    async def _replicate(self, replica_set: Json, pods: list[Json]) -> None:
        meta, spec = replica_set["metadata"], replica_set["spec"]
        alive = [pod for pod in pods if _alive(pod)]
        for _ in range(spec["replicas"] - len(alive)):
            pod = await self._client.create(PODS, meta["namespace"], pod_from_template(replica_set, spec["template"]))
            self._pods.note(pod)
            alive.append(pod)
        for pod in sorted(alive, key=_last_to_keep)[: max(0, len(alive) - spec["replicas"])]:
            gone = await self._client.delete(PODS, meta["namespace"], pod["metadata"]["name"])
            if gone is not None:
                self._pods.note(gone)
            alive.remove(pod)
        ready = sum(is_ready(pod) for pod in alive)
        counts = {"replicas": len(alive), "readyReplicas": ready, "availableReplicas": ready}
        await self._status(REPLICASETS, self._sets, replica_set, counts)

    async def _status(self, kind: Kind, mirror: Mirror, obj: Json, counts: Json) -> None:
        meta = obj["metadata"]
        status = {**counts, "observedGeneration": meta["generation"]}
        if any(obj["status"].get(key, 0) != value for key, value in status.items()):
            change = {"status": status}
            mirror.note(await self._client.merge(kind, meta["namespace"], meta["name"], change, subresource="status"))


def _replica_set(deployment: Json, name: str, mark: str) -> Json:
    template = deployment["spec"]["template"]
    labels = {**((template.get("metadata") or {}).get("labels") or {}), "pod-template-hash": mark}
    return {
        "kind": REPLICASETS.kind,
        "apiVersion": REPLICASETS.api_version,
        "metadata": {"name": name, "labels": labels, "ownerReferences": [reference(deployment)]},
        "spec": {
            "replicas": deployment["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }


def _alive(pod: Json) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Succeeded", "Failed")


def _last_to_keep(pod: Json) -> tuple[bool, bool, int]:
    """Pods without a node go first, then those not ready, then the youngest."""
    return bool(pod["spec"].get("nodeName")), is_ready(pod), -int(pod["metadata"]["resourceVersion"])
