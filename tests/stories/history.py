"""What may happen to a cluster? Steps as values, carried out on the stage, with what must hold after each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import anyio

from reconciler.model import names, quantity
from reconciler.sandbox import mishaps
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.faults import Cut, Drop, ErrorEvent, Fault, Late, Lost, Unreachable
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.nvml_double import A10G, L4_3Q, T4, Card
from tests.stories import gpus
from tests.stories.stage import OURS, Stage

CARDS: dict[str, Card] = {"g4dn.xlarge": T4, "g5.xlarge": A10G, "g6f.large": L4_3Q}
FAULTS: Sequence[Fault] = (
    mishaps.CONFLICT,
    mishaps.THROTTLED,
    mishaps.ERROR_500_HTML,
    Unreachable(),
    Lost(),
    Late(0.5, jitter=3.0),
    Drop(),
    Cut(),
    ErrorEvent(),
)
FOREIGN_LABEL = {"team": "ml"}
FOREIGN_TAINT = "team=ml:PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Join:
    """A node comes; one that was there under this name goes first."""

    node: str
    kind: str
    startup_taint: bool


@dataclass(frozen=True, slots=True)
class Leave:
    node: str


@dataclass(frozen=True, slots=True)
class Restart:
    """The kubelet restarts, perhaps zeroing; or the whole machine does."""

    node: str
    zero: bool
    reboot: bool


@dataclass(frozen=True, slots=True)
class Edit:
    """Somebody writes a smaller number over ours, or removes it."""

    node: str
    value: str | None
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A pod wants GPU memory."""

    mib: int


@dataclass(frozen=True, slots=True)
class End:
    """The oldest pod ends."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault begins to meet some of our requests, or all faults end."""

    fault: Fault | None


@dataclass(frozen=True, slots=True)
class Crash:
    """Our process dies and is started again."""


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


Step = Join | Leave | Restart | Edit | Run | End | Trouble | Crash | Wait


class History:
    """Carries steps out, and watches what must hold all the time."""

    def __init__(self, play: Stage) -> None:
        self.play = play
        self._pods = 0
        self._boots = 0
        self._here: set[str] = set()

    async def do(self, step: Step) -> None:
        match step:
            case Join(node, kind, startup_taint):
                await self._leave(node)
                await self._join(node, kind, startup_taint)
            case Leave(node) | Restart(node) | Edit(node) if node not in self._here:
                pass
            case Leave(node):
                await self._leave(node)
            case Restart(node, zero, reboot):
                boot = {"boot_id": self._boot()} if reboot else {}
                await self.play.sandbox.restart_kubelet(node, zero=zero, **boot)
            case Edit(node, value, parts):
                await self.play.set_resource(node, value, *parts)
            case Run(mib):
                self._pods += 1
                await self.play.pod(f"p{self._pods}", mib)
            case End():
                for name in sorted(pod["metadata"]["name"] for pod in self._running())[:1]:
                    await self.play.admin.delete(PODS, "default", name)
            case Trouble() | Crash() | Wait():
                await self._weather(step)
            case _:
                assert_never(step)
        self.nothing_is_overfull()

    async def _weather(self, step: Trouble | Crash | Wait) -> None:
        match step:
            case Trouble(fault):
                if fault is None:
                    self.play.faults.clear()
                else:
                    self.play.faults.add(fault, user=OURS, chance=0.3, times=20)
            case Crash():
                self.play.replicas[OURS].kill()
                await self.play.start()
            case Wait(seconds):
                await anyio.sleep(seconds)
            case _:
                assert_never(step)

    async def _join(self, node: str, kind: str, startup_taint: bool) -> None:
        taints = (FOREIGN_TAINT, *([f"{names.STARTUP_TAINT}=:NoSchedule"] if startup_taint else []))
        machine = gpus.machine(kind, labels=FOREIGN_LABEL, taints=taints)
        await self.play.sandbox.add_node(node, replace(machine, boot_id=self._boot()))
        self._here.add(node)

    async def _leave(self, node: str) -> None:
        """The node goes, and its pods with it: they would be bound to its namesake otherwise."""
        if node not in self._here:
            return
        for pod in self._running():
            if pod["spec"]["nodeName"] == node:
                await self.play.admin.delete(PODS, "default", pod["metadata"]["name"], {"gracePeriodSeconds": 0})
        await self.play.sandbox.delete_node(node)
        self._here.discard(node)

    def _boot(self) -> str:
        self._boots += 1
        return f"boot-{self._boots}"

    def _running(self) -> list[Json]:
        """Pods that hold something."""
        pods = [pod for pod in self.play.sandbox.store.all(PODS) if pod["metadata"]["namespace"] == "default"]
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        return [pod for pod in bound if pod["status"].get("phase") not in ("Succeeded", "Failed")]

    def nothing_is_overfull(self) -> None:
        """I11: what pods were promised on a node is never more than NVML finds there."""
        for node in self._here:
            card = CARDS[self.play.kind_of(node)]
            held = sum(_requested(pod) for pod in self._running() if pod["spec"]["nodeName"] == node)
            assert held <= (card.total_mib - card.reserved_mib) * quantity.MIB

    def right(self) -> None:
        """I12 and I6, for all nodes that are left."""
        for node in self._here:
            card = CARDS[self.play.kind_of(node)]
            mib = card.total_mib - card.reserved_mib
            assert (self.play.advertised(node), self.play.reason(node)) == (mib, "True/Verified")
            assert self.play.taints(node) == ["team"]
            assert self.play.node(node)["metadata"]["labels"]["team"] == "ml"
        assert self.play.jobs() == []


def _requested(pod: Json) -> int:
    container = pod["spec"]["containers"][0]
    return quantity.of_resource(names.MEMORY_RESOURCE, container["resources"]["requests"][names.MEMORY_RESOURCE])
