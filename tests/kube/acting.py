"""An actuator on a small cluster with one node, for the tests of what it does."""

from datetime import datetime
from typing import Any

from reconciler.kube.apply import KubeActuator, Learner
from reconciler.kube.fence import NotLeader
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import names
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import Condition, NodeKey, NodeName
from tests.kube.world import World

SETTINGS = ProbeJobSettings(namespace="gpu", image="registry.example/gpu-reconciler:1")
MEMORY = "veriff.com/gpu-memory"
MIB = 1 << 20


class Notebook:
    """A catalog that only remembers."""

    def __init__(self) -> None:
        self.learned: list[LearnedFigure] = []

    async def learn(self, figure: LearnedFigure) -> None:
        self.learned.append(figure)


class Acting:
    """An actuator on a small cluster with one node."""

    def __init__(self, left: float = 100.0, catalog: Learner | None = None) -> None:
        self.world = World()
        self.world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "gpu"}})
        self.left = left
        self.notebook = Notebook()
        self.actuator = KubeActuator(
            self.world.transport,
            may_write=self.fence,
            probe=SETTINGS,
            catalog=catalog or self.notebook,
            clock=self.world.clock,
        )

    def fence(self) -> float:
        if self.left <= 0:
            raise NotLeader("the lease is not ours (any more)")
        return self.left

    def node(self, **fields: Any) -> NodeKey:
        made = self.world.node("n1", **fields)
        return NodeKey(NodeName("n1"), made["metadata"]["uid"])

    def read(self) -> dict[str, Any]:
        return self.world.do("GET", "/api/v1/nodes/n1")


STATUS = {
    "capacity": {"cpu": "4", "foreign.io/x": "7"},
    "allocatable": {"cpu": "3920m", "foreign.io/x": "7"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
}


def condition(since: datetime) -> Condition:
    return Condition(names.CONDITION, "True", "Verified", "15079 MiB", since)
