"""Which node does a waiting pod get? One pass over all waiting pods whenever a node or a pod changed."""

from collections.abc import Callable
from datetime import datetime

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client, Rejected
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.fitting import Refused, Room, explanation, refused, score
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.mirror import Bell, Mirrors

_TERMINAL = ("Succeeded", "Failed")


class Scheduler:
    """The default scheduler: filters, least allocated, no preemption."""

    def __init__(self, client: Client, mirrors: Mirrors, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._bell = Bell()
        self._nodes = mirrors.of(NODES, self._bell)
        self._pods = mirrors.of(PODS, self._bell)

    async def run(self) -> None:
        await attend(self._bell, (self._nodes, self._pods), self._pass)

    async def _pass(self) -> None:
        rooms = {node["metadata"]["name"]: Room(node) for node in sorted(self._nodes, key=_name)}
        waiting = []
        for pod in self._pods:
            if (node := pod["spec"].get("nodeName")) in rooms:
                if pod["status"].get("phase") not in _TERMINAL:
                    rooms[node].add(pod)
            elif not node and _schedulable(pod):
                waiting.append(pod)
        for pod in sorted(waiting, key=_turn):
            await self._place(pod, rooms)

    async def _place(self, pod: Json, rooms: dict[str, Room]) -> None:
        answers = {name: refused(pod, room) for name, room in rooms.items()}
        fitting = [rooms[name] for name, answer in answers.items() if answer is None]
        if not fitting:
            await self._tell(pod, explanation([answer for answer in answers.values() if isinstance(answer, Refused)]))
            return
        best = max(fitting, key=lambda room: score(pod, room))
        if await self._bind(pod, _name(best.node)):
            best.add(pod)

    async def _bind(self, pod: Json, node: str) -> bool:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        binding = {"metadata": {"name": name, "uid": pod["metadata"]["uid"]}, "target": {"kind": "Node", "name": node}}
        try:
            await self._client.create(PODS, namespace, binding, name=name, subresource="binding")
        except Rejected as no:
            if no.status in (404, 409):
                return False  # gone, or bound by another: the watch will tell
            raise
        pod["spec"]["nodeName"] = node
        return True

    async def _tell(self, pod: Json, why: str) -> None:
        conditions: list[Json] = pod["status"].get("conditions") or []
        known: Json = next((each for each in conditions if each["type"] == "PodScheduled"), {})
        if known.get("message") == why:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": why,
            "lastTransitionTime": known.get("lastTransitionTime") or stamp(self._now()),
        }
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [condition]}}
        try:
            self._pods.note(await self._client.strategic(PODS, namespace, name, change, subresource="status"))
        except Rejected as no:
            if no.status not in (404, 409, 422):
                raise


def _name(node: Json) -> str:
    return str(node["metadata"]["name"])


def _schedulable(pod: Json) -> bool:
    return (
        pod["spec"].get("schedulerName", "default-scheduler") == "default-scheduler"
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"].get("phase") not in _TERMINAL
        and not pod["spec"].get("schedulingGates")
    )


def _turn(pod: Json) -> tuple[int, str, int]:
    """Higher priority first, then older first."""
    meta = pod["metadata"]
    return -int(pod["spec"].get("priority") or 0), meta["creationTimestamp"], int(meta["resourceVersion"])
