"""What does Karpenter learn of nodes that are not there yet? NodePools come, and the controller writes overlays."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reconciler.model import names
from reconciler.model.overlay import Subject
from reconciler.sandbox.kinds import NODEPOOLS
from scripts.demo import pools
from scripts.demo.arrivals import Arrivals
from scripts.demo.calls import in_words
from scripts.demo.company import Company
from scripts.demo.fleet import DEV, PRODUCTION, Member
from scripts.demo.overlays import counts_for, in_short
from scripts.demo.telling import Telling

_OVERLAYS = 3
"""Memory for each of two types, and slices for both in one NodePool."""
_WRITE = "POST nodeoverlays"


@dataclass(slots=True)
class OverlayStory:
    """`pause` waits so many seconds where somebody watches."""

    company: Company
    telling: Telling
    arrivals: Arrivals
    pause: Callable[[float], Awaitable[None]]

    async def play(self) -> None:
        """The chapter. Raises NotSo where the story cannot go on."""
        company, board = self.company, self.company.board
        self.telling.chapter(
            f"7. Karpenter's NodePools {' and '.join(pools.POOLS)} appear; what will their nodes have?"
        )
        before = len(company.calls.calls)
        for name in pools.POOLS:
            await company.admin.create(NODEPOOLS, "", pools.node_pool(name))
        await board.until(lambda: len(board.overlays()) >= _OVERLAYS, f"{_OVERLAYS} NodeOverlays are written")
        self.telling.say(
            f"the controller tells Karpenter, which is not here itself: {in_words(company.calls.calls[before:])}"
        )
        for member in (DEV, PRODUCTION):
            self._claim_memory(member)
        self._claim_slices()
        await self.pause(1.5)

    def _claim_memory(self, member: Member) -> None:
        overlays, wanted = self.company.board.overlays(), self.arrivals.wanted_mib(member)
        found = [in_short(one) for one in overlays if counts_for(one, member, Subject.MEMORY)]
        self.telling.claim(
            found == [f"{self.company.board.resource} {wanted}Mi on {member.kind}"],
            f"a NodeOverlay says {' and '.join(found)}, as probes have learned",
            [in_short(one) for one in overlays],
        )

    def _claim_slices(self) -> None:
        overlays = self.company.board.overlays()
        found = [in_short(one) for one in overlays if one.subject is Subject.GPUS]
        types = ", ".join(pools.POOLS[pools.DEV])
        self.telling.claim(
            found == [f"{names.GPU_RESOURCE} {pools.SLOTS} on {types} in {pools.DEV}"],
            f"a NodeOverlay says {' and '.join(found)}; a GPU of {pools.PRODUCTION} counts as it is",
            [in_short(one) for one in overlays],
        )
