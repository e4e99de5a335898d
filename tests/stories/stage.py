"""Where do the stories play? A sandbox with the controller in it, and the questions that stories ask of the cluster."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from reconciler.app.controller import Wishes
from reconciler.controllers.ports import TypeSource
from reconciler.decide import node as nodes
from reconciler.decide.node import NodePolicy
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.watch import Pace
from reconciler.model import names, quantity
from reconciler.model import record as records
from reconciler.model.overlay import OverlayPolicy
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.record import CapacityRecord
from reconciler.runtime.clock import Clock
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import CONFIGMAPS, EVENTS, JOBS, NAMESPACES, NODES, PODS, Kind
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.programs import Exit, Pretend, Waiting, Work
from reconciler.sandbox.record import Call
from tests.stories import gpus
from tests.stories.ec2 import Ec2
from tests.stories.replica import Replica
from tests.stories.telling import plainly

NAMESPACE = "gpu-reconciler"
OURS = "ours"
PROBE = ProbeJobSettings(NAMESPACE, "gpu-reconciler:test")
MOST_TURNS = 25
"""Of one key within one second: a join with all its events has about ten."""
SOON = 60.0
"""Seconds within which a join is over, probe and all."""


class Stage:
    """A cluster and its replicas. `answers` is what the probe says on a node, where its type does not tell."""

    def __init__(
        self, sandbox: Sandbox, types: TypeSource, policy: NodePolicy, probe: ProbeJobSettings, tasks: TaskGroup
    ) -> None:
        self.sandbox = sandbox
        self.admin = sandbox.admin
        self.faults = sandbox.faults
        self.types = types
        self.policy = policy.capacity
        self.slicing = policy.slicing
        self.probe = probe
        self.overlays: OverlayPolicy | None = None
        self.write_overlays = True
        self.answers: dict[str, Exit | Waiting] = {}
        self.replicas: dict[str, Replica] = {}
        """The last process of each name."""
        self.everyone: list[Replica] = []
        self._tasks = tasks

    # --- what happens

    async def start(
        self,
        name: str = OURS,
        *,
        leased: bool = False,
        works: bool = True,
        dies_with: int | None = None,
        clock: Clock | None = None,
        policy: CapacityPolicy | None = None,
    ) -> Replica:
        """Start a process of the controller; returns when it has read the cluster. `works` False: it only watches."""
        clock = clock if clock is not None else self.sandbox.clock
        if policy is not None:
            self.policy = policy
        transport = self.sandbox.transport(name)
        wishes = Wishes(
            namespace=NAMESPACE,
            policy=self.node_policy,
            probe=self.probe,
            pace=Pace(),
            overlays=self.overlays,
            write_overlays=self.write_overlays,
        )
        replica = Replica(name, transport, self.types, clock, wishes, leased=leased, works=works, dies_with=dies_with)
        self.replicas[name] = replica
        self.everyone.append(replica)
        await self._tasks.start(replica.run)
        return replica

    async def join(self, name: str = "a", machine: Machine | None = None) -> None:
        """A node joins, time passes, and all that can be done has been done (invariant I5)."""
        await self.sandbox.add_node(name, machine if machine is not None else gpus.machine())
        await anyio.sleep(SOON)
        assert self.restless() == []

    async def pod(self, name: str, mib: int, *, node: str = "", resource: str = names.MEMORY_RESOURCE) -> None:
        """A pod that asks for so much GPU memory; `node`: bound by hand, past the scheduler."""
        amounts = {resource: f"{mib}Mi"}
        container = {"name": "main", "image": "app", "resources": {"requests": amounts, "limits": amounts}}
        spec: Json = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
        if node:
            spec["nodeName"] = node
        await self.admin.create(PODS, "default", {"metadata": {"name": name}, "spec": spec})

    async def end(self, pod: str) -> None:
        """The pod is deleted, and goes."""
        await self.admin.delete(PODS, "default", pod)
        await anyio.sleep(5)

    async def set_resource(self, node: str, mib: int | str | None, *parts: str) -> None:
        """Somebody writes the memory resource by hand: MiB, a quantity as text, or None to remove it."""
        text = f"{mib}Mi" if isinstance(mib, int) else mib
        status = {part: {self.policy.resource: text} for part in parts or ("capacity", "allocatable")}
        await self.admin.strategic(NODES, "", node, {"status": status}, subresource="status")

    @property
    def node_policy(self) -> NodePolicy:
        return NodePolicy(self.policy, self.slicing)

    # --- what is there

    def object(self, kind: Kind, name: str, namespace: str = "") -> Json:
        found = self.sandbox.store.get(kind, f"{namespace}/{name}" if namespace else name)
        assert found is not None, f"there is no {kind.kind} {name}"
        return found

    def node(self, name: str = "a") -> Json:
        return self.object(NODES, name)

    def advertised(self, name: str = "a") -> int | None:
        """MiB, in capacity and allocatable alike; None: neither names the resource."""
        status = self.node(name)["status"]
        both = [status[part].get(self.policy.resource) for part in ("capacity", "allocatable")]
        assert both[0] == both[1], f"capacity and allocatable differ: {both}"
        return None if both[0] is None else quantity.of_resource(self.policy.resource, both[0]) // quantity.MIB

    def condition(self, name: str = "a") -> Json:
        """Our condition; empty where there is none."""
        return next((one for one in self.node(name)["status"]["conditions"] if one["type"] == names.CONDITION), {})

    def reason(self, name: str = "a") -> str:
        """`True/Verified`: our condition's status and reason; empty where there is none."""
        found = self.condition(name)
        return f"{found['status']}/{found['reason']}" if found else ""

    def labels(self, name: str = "a") -> Mapping[str, str]:
        """Those of ours, without the domain."""
        found = self.node(name)["metadata"]["labels"]
        return {key.rpartition("/")[2]: found[key] for key in names.OUR_LABELS if key in found}

    def record(self, name: str = "a") -> CapacityRecord:
        found = records.parse(self.node(name)["metadata"]["annotations"][names.RECORD])
        assert isinstance(found, CapacityRecord)
        return found

    def kind_of(self, name: str) -> str:
        """The instance type that the node carries, or nothing."""
        return str(self.node(name)["metadata"]["labels"].get(names.LABEL_INSTANCE_TYPE, ""))

    def taints(self, name: str = "a") -> list[str]:
        return [taint["key"] for taint in self.node(name)["spec"].get("taints") or []]

    def pod_phase(self, name: str) -> str:
        return str(self.object(PODS, name, "default")["status"].get("phase"))

    def jobs(self) -> list[Json]:
        return self.sandbox.store.all(JOBS)

    def probe_pods(self) -> list[Json]:
        return [pod for pod in self.sandbox.store.all(PODS) if pod["metadata"]["namespace"] == NAMESPACE]

    def catalog(self) -> Mapping[str, str]:
        """The data of the catalog ConfigMap; empty where there is none."""
        found = self.sandbox.store.get(CONFIGMAPS, f"{NAMESPACE}/gpu-reconciler-catalog")
        return found.get("data") or {} if found is not None else {}

    def events(self, name: str = "a") -> list[str]:
        """The reasons of our events on the node, oldest first."""
        found = [event for event in self.sandbox.store.all(EVENTS) if event["involvedObject"]["name"] == name]
        return [event["reason"] for event in sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))]

    # --- what we did

    def writes(self, who: str = OURS, since: datetime | None = None) -> list[Call]:
        """The replica's writes, those of its lease left out."""
        calls = self.sandbox.record.writes(who)
        return [call for call in calls if "/leases" not in call.path and (since is None or call.at >= since)]

    async def quiet(self, hours: float = 1.0, who: str = OURS) -> None:
        """Nothing happens for so long, and we write nothing (invariant I5)."""
        before = self.sandbox.clock.now()
        await anyio.sleep(hours * 3600)
        assert [str(call) for call in self.writes(who, before)] == []

    def restless(self) -> list[str]:
        """Nodes about which a living replica would do something now: on a still cluster there are none."""
        now = self.sandbox.clock.now()
        found = []
        alive = [replica for replica in self.replicas.values() if replica.alive]
        for replica in alive:
            for node in replica.controller.nodes.all():
                plan = nodes.decide(replica.controller.gpus.facts(node), self.node_policy, now).plan
                if plan.actions:
                    found.append(f"{replica.name}: {node.name}: {plan}")
        return found


@asynccontextmanager
async def stage(
    *,
    seed: int = 0,
    policy: CapacityPolicy | None = None,
    slicing: SlicingPolicy | None = None,
    types: TypeSource | None = None,
    probe: ProbeJobSettings = PROBE,
    start: bool = True,
) -> AsyncIterator[Stage]:
    """A cluster with one controller that has no lease to win; `start` False: with none yet."""
    play: Stage

    def answer(work: Work) -> Exit | Waiting:
        if sandbox.store.get(NODES, work.node) is None:
            return Waiting("ContainerCreating")  # the machine is on its way out
        return play.answers.get(work.node) or gpus.BY_TYPE[play.kind_of(work.node)]

    both = NodePolicy(policy or CapacityPolicy(), slicing or SlicingPolicy())
    sandbox = Sandbox(seed=seed, runtime=Pretend(answer))
    async with plainly(), sandbox, anyio.create_task_group() as tasks:
        play = Stage(sandbox, types if types is not None else Ec2(), both, probe, tasks)
        await play.admin.create(NAMESPACES, "", {"metadata": {"name": NAMESPACE}})
        if start:
            await play.start()
        yield play
        for replica in play.everyone:
            replica.kill()
        tasks.cancel_scope.cancel()
    for replica in play.everyone:
        assert replica.ear.failures == [], "only failures that have a name are expected"
        unforeseen = [trouble.why for trouble in replica.ear.troubles if trouble.unforeseen]
        assert unforeseen == [], "and no object is met that a door or a cache fails over"
        assert replica.ear.busiest <= MOST_TURNS, "a queue spins"
