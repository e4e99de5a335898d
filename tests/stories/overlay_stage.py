"""A stage with NodePools, on which a Karpenter judges overlays as the real one does."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from reconciler.model import names
from reconciler.model.overlay import OverlayPolicy
from reconciler.model.policy import CapacityPolicy
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.kinds import EVENTS, NODECLAIMS, NODEOVERLAYS, NODEPOOLS, Kind
from tests.stories.stage import Stage, stage

KARPENTER = (NODECLAIMS, NODEPOOLS, NODEOVERLAYS)
SMALL = ("g4dn.xlarge", "g5.xlarge")
LOOKS_EVERY = 30.0
"""Seconds between two looks for a kind that is not there (kube/watch.py, Pace)."""


class Judge:
    """Karpenter's overlay controller, as far as overlays name instance types. `gate` is its feature gate."""

    def __init__(self, sandbox: Sandbox, *, gate: bool = True) -> None:
        self.gate = gate
        self._sandbox = sandbox

    async def run(self) -> None:
        """Judge all overlays a moment after each change: larger weights first, later names first."""
        while True:
            await anyio.sleep(0.5)
            if self.gate:
                await self._judge()

    async def _judge(self) -> None:
        found = self._sandbox.store.all(NODEOVERLAYS)
        found.sort(key=lambda one: (one["spec"].get("weight", 0), one["metadata"]["name"]), reverse=True)
        taken: dict[tuple[int, str, str], str] = {}
        for one in found:
            places = [(one["spec"].get("weight", 0), kind, what) for kind in types_of(one) for what in capacity(one)]
            lost = any(place in taken for place in places)
            if not lost:
                taken |= dict.fromkeys(places, one["metadata"]["name"])
            await self._say(one, lost=lost)

    async def _say(self, one: Json, *, lost: bool) -> None:
        known: Json = next(iter((one.get("status") or {}).get("conditions") or []), {})
        generation = one["metadata"]["generation"]
        if (known.get("status"), known.get("observedGeneration")) == ("False" if lost else "True", generation):
            return
        condition = {
            "type": "ValidationSucceeded",
            "status": "False" if lost else "True",
            "reason": "Conflict" if lost else "ValidationSucceeded",
            "message": "conflict with another overlay" if lost else "",
            "observedGeneration": generation,
            "lastTransitionTime": stamp(self._sandbox.clock.now()),
        }
        body = {"status": {"conditions": [condition]}}
        await self._sandbox.admin.merge(NODEOVERLAYS, "", one["metadata"]["name"], body, subresource="status")


@asynccontextmanager
async def overlay_stage(
    *,
    kinds: tuple[Kind, ...] = KARPENTER,
    policy: OverlayPolicy | None = None,
    memory: CapacityPolicy | None = None,
    write: bool = True,
    gate: bool = True,
    start: bool = True,
) -> AsyncIterator[Stage]:
    """`kinds`: those of Karpenter's that are there at first."""
    async with stage(policy=memory, start=False) as play, anyio.create_task_group() as tasks:
        play.overlays, play.write_overlays = policy or OverlayPolicy(), write
        await play.sandbox.install_karpenter(kinds)
        if NODEOVERLAYS in kinds:
            tasks.start_soon(Judge(play.sandbox, gate=gate).run)
        if start:
            await play.start()
        yield play
        tasks.cancel_scope.cancel()


async def make_pool(play: Stage, name: str = "dev", kinds: Sequence[str] = SMALL, **template: Any) -> None:
    only = {"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": list(kinds)}
    group = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    spec = {"template": {"spec": {"nodeClassRef": group, "requirements": [only]}, **template}}
    await play.admin.create(NODEPOOLS, "", {"metadata": {"name": name}, "spec": spec})


async def make_overlay(play: Stage, name: str, capacity: dict[str, str], weight: int, *kinds: str) -> None:
    only = {"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": list(kinds)}
    spec = {"weight": weight, "capacity": capacity, "requirements": [only]}
    await play.admin.create(NODEOVERLAYS, "", {"metadata": {"name": name}, "spec": spec})


def capacity(one: Json) -> dict[str, str]:
    return one["spec"].get("capacity") or {}


def types_of(one: Json) -> list[str]:
    return [value for need in one["spec"]["requirements"] for value in need.get("values") or []]


def standing(play: Stage, who: str = names.LABEL_OVERLAY) -> dict[str, dict[str, str]]:
    """Each type that overlays of ours tell of, with what they tell."""
    found = [one for one in play.sandbox.store.all(NODEOVERLAYS) if who in one["metadata"].get("labels", {})]
    return {kind: capacity(one) for one in found for kind in types_of(one)}


def told(play: Stage) -> list[str]:
    """The reasons of Events on overlays, oldest first."""
    found = [event for event in play.sandbox.store.all(EVENTS) if event["involvedObject"]["kind"] == "NodeOverlay"]
    return [event["reason"] for event in sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))]
