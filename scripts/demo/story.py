"""What happens? The chapters in their order, each of which says what it did and claims only what it looked at."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from reconciler.model.reasons import Reason
from reconciler.sandbox.kinds import DEPLOYMENTS
from scripts.demo import placing
from scripts.demo.arrivals import Arrivals
from scripts.demo.board import Moment, NotSo
from scripts.demo.calls import Call, in_words, patched, until_patched
from scripts.demo.company import EXAMPLE, POD_MIB, Company
from scripts.demo.fleet import BLIND, FIRST, OTHERS, TIGHT, Member
from scripts.demo.overlay_story import OverlayStory
from scripts.demo.sharing_story import SharingStory
from scripts.demo.telling import Telling

DEPLOYMENT = "gpu-example"
NAMESPACE = "default"
MORE_THAN_FIT = 6
"""How many pods are asked for beyond what the nodes can hold."""


@dataclass(slots=True)
class Results:
    """What was measured on the way. Seconds, and the controller's calls."""

    join: Sequence[Call] = ()
    first_figure: float | None = None
    """From the node's appearance to memory that the scheduler may give away."""
    first_calls: int = 0
    heal: Sequence[Call] = ()
    heal_seconds: float | None = None
    running: int = 0
    waiting: int = 0


@dataclass(slots=True)
class Story:
    """`pause` waits so many seconds where somebody watches."""

    company: Company
    telling: Telling
    library: Path | None
    """The NVML double; None: reports are replayed."""
    pause: Callable[[float], Awaitable[None]]
    results: Results = field(default_factory=Results)
    arrivals: Arrivals = field(init=False)

    def __post_init__(self) -> None:
        self.arrivals = Arrivals(self.company, self.telling, self.library)

    async def play(self) -> None:
        """All chapters. Raises NotSo where the story cannot go on."""
        await self._first_node()
        await self._other_nodes()
        await self._starting_point_a()
        await self._true_limit()
        await self._forgetful_kubelet()
        await self._blind_node()
        await OverlayStory(self.company, self.telling, self.arrivals, self.pause).play()
        await SharingStory(self.company, self.telling, self.arrivals, self.pause).play()

    async def _first_node(self) -> None:
        self.telling.chapter("1. A GPU node joins; the scheduler should know its GPU memory")
        board, name = self.company.board, FIRST.name
        before = len(self.company.calls.calls)
        await self.arrivals.join(FIRST)
        await board.until(lambda: board.mib(name), f"{name} advertises memory")
        await self.arrivals.until_settled(FIRST)
        await board.until(lambda: self._record_is_whole(name), f"EC2's answer about {name}")
        calls = await self.company.calls.since(before, lambda some: patched(some, name))
        figures = [moment for moment in board.history(name) if moment.mib]
        appeared, first = board.history(name)[0].at, figures[0]
        self.results.join = calls
        self.results.first_figure = first.at - appeared
        self.results.first_calls = len(until_patched(calls, name))
        self.telling.claim(
            patched(calls, name) and self.results.first_calls <= 3 and self.results.first_figure < 5,
            f"schedulable {self.results.first_figure * 1000:.0f} ms after the node appeared, "
            f"by API call number {self.results.first_calls}",
            f"{self.results.first_figure:.3f} s, {self.results.first_calls} calls",
        )
        self._claim_provisional_first(FIRST, figures)
        self.telling.say(f"all calls of this join: {in_words(calls)}")

    async def _other_nodes(self) -> None:
        self.telling.chapter("2. Nodes of other kinds join, one after another")
        for member in OTHERS:
            await self.arrivals.join(member)
            await self.pause(0.4)
        for member in OTHERS:
            await self.arrivals.until_settled(member)
        for member in (FIRST, *OTHERS):
            self.arrivals.claim_final(member)
        await self.pause(1.0)

    async def _starting_point_a(self) -> None:
        self.telling.chapter(f"3. Starting point A: its Deployment, unchanged, 6 pods of {POD_MIB}Mi each")
        company, board = self.company, self.company.board
        deployment = yaml.safe_load((EXAMPLE / "deployment.yaml").read_text())
        await company.admin.create(DEPLOYMENTS, NAMESPACE, deployment)
        wanted = deployment["spec"]["replicas"]
        await placing.until_running(company, DEPLOYMENT, wanted)
        by_node = {member.name: len(board.pods_on(member.name)) for member in (FIRST, *OTHERS)}
        used = {name: count for name, count in by_node.items() if count}
        spread = ", ".join(f"{count} on {name}" for name, count in used.items())
        with_memory = {member.name for member in (FIRST, *OTHERS) if member.card is not None}
        self.telling.claim(
            set(used) <= with_memory and len(used) > 1 and sum(used.values()) == wanted,
            f"{wanted} pods run, spread over the nodes that advertise memory: {spread}",
            by_node,
        )
        await self.pause(1.0)

    async def _true_limit(self) -> None:
        company = self.company
        before = company.explanations()
        fits = placing.room(before, company.board)
        asked = fits + MORE_THAN_FIT
        self.telling.chapter(f"4. As many as fit: {fits} by the controller's own word, so {asked} are asked for")
        await company.admin.merge(DEPLOYMENTS, NAMESPACE, DEPLOYMENT, {"spec": {"replicas": asked}})
        await placing.until_running(company, DEPLOYMENT, fits)
        waiting, told = await placing.waiting(company, DEPLOYMENT, MORE_THAN_FIT)
        self.results.running, self.results.waiting = fits, waiting
        self.telling.claim(waiting == MORE_THAN_FIT, f"{fits} pods run and {MORE_THAN_FIT} wait", f"{waiting} wait")
        self.telling.say(f"the scheduler says why: {told}")
        for member in (FIRST, *OTHERS):
            if member.card is not None:
                placing.claim_full(company, member, self.telling)
        await self.pause(2.0)

    async def _forgetful_kubelet(self) -> None:
        self.telling.chapter(f"5. The kubelet of {TIGHT} restarts without its checkpoint and sets the resource to 0")
        company, board = self.company, self.company.board
        pods, mib = board.pods_on(TIGHT), board.mib(TIGHT)
        marker, since = len(company.calls.calls), _now(board.history(TIGHT))
        await company.stage.restart_kubelet(TIGHT)

        def moments() -> Sequence[Moment]:
            return [moment for moment in board.history(TIGHT) if moment.at > since]

        await board.until(lambda: any(not moment.mib for moment in moments()), f"{TIGHT} shows 0")
        lost = next(moment for moment in moments() if not moment.mib)
        await board.until(lambda: board.mib(TIGHT) == mib, f"{TIGHT} shows {mib} MiB again")
        healed = next(moment for moment in moments() if moment.at >= lost.at and moment.mib == mib)
        calls = until_patched(await company.calls.since(marker, lambda some: patched(some, TIGHT)), TIGHT)
        self.results.heal, self.results.heal_seconds = calls, healed.at - lost.at
        self.telling.claim(
            patched(calls, TIGHT) and len(calls) <= 2 and healed.at - lost.at < 5,
            f"healed {1000 * (healed.at - lost.at):.0f} ms after it was seen, by {in_words(calls)}",
            f"{healed.at - lost.at:.3f} s, {in_words(calls)}",
        )
        await self.pause(1.0)
        after = board.pods_on(TIGHT)
        self.telling.claim(
            sorted(pods) == sorted(after), f"none of its {len(pods)} pods was hurt", f"{len(after)} left"
        )

    async def _blind_node(self) -> None:
        self.telling.chapter("6. A node joins whose GPU NVML cannot see")
        board, name = self.company.board, BLIND.name
        await self.arrivals.join(BLIND)
        await self.arrivals.until_settled(BLIND)
        await self.pause(1.0)
        self.arrivals.claim_final(BLIND)
        self.telling.claim(not board.pods_on(name), f"no pod of those that wait came to {name}")

    def _record_is_whole(self, name: str) -> bool:
        record = self.company.board.record(name)
        return record is not None and record.ec2_mib is not None and record.probe is not None

    def _claim_provisional_first(self, member: Member, figures: Sequence[Moment]) -> None:
        first, last = figures[0], figures[-1]
        reason = first.node.condition.reason if first.node.condition is not None else ""
        self.telling.claim(
            reason == Reason.PROVISIONAL and (first.mib or 0) < (last.mib or 0),
            f"first {first.mib} MiB, known of the type less a margin; {last.mib} MiB when NVML had answered",
            f"{reason} {first.mib}, then {last.mib}",
        )


def _now(history: Sequence[Moment]) -> float:
    if not history:
        raise NotSo("the node was never seen")
    return history[-1].at
