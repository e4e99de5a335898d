"""How does a node of the story come, and is it what it should be in the end?"""

from dataclasses import dataclass
from pathlib import Path

from reconciler.model.node import NodeName
from scripts.demo.company import Company
from scripts.demo.fleet import Member
from scripts.demo.telling import Telling


@dataclass(slots=True)
class Arrivals:
    """Brings nodes, and looks at them."""

    company: Company
    telling: Telling
    library: Path | None
    """The NVML double; None: reports are replayed."""
    _number: int = 0

    async def join(self, member: Member) -> None:
        """Returns when the node is registered."""
        aside = f" ({member.aside})" if member.aside else ""
        of_pool = f" of {member.pool}" if member.pool else ""
        self.telling.say(f"{member.name}{of_pool} joins: {member.kind}{aside}, closed by its startup taint")
        self._number += 1
        await self.company.stage.add_node(member.name, member.machine(self._number, self.library))
        board = self.company.board
        await board.until(lambda: board.nodes.get(NodeName(member.name)), f"{member.name} is registered")

    def settled(self, member: Member) -> bool:
        """Whether the last word on the node's memory is spoken, and written."""
        node = self.company.board.node(member.name)
        written = node.condition is None or node.condition.reason == member.reason
        return written and self._reason(member.name) == member.reason and node.has_startup_taint is not member.open

    async def until_settled(self, member: Member) -> None:
        """Raises NotSo."""
        await self.company.board.until(lambda: self.settled(member), f"a final answer about {member.name}")

    def claim_final(self, member: Member) -> None:
        """That the node advertises what NVML says, or nothing."""
        board = self.company.board
        node, mib = board.node(member.name), board.mib(member.name)
        wanted = self.wanted_mib(member)
        shown = f"{wanted} MiB, as NVML says" if wanted is not None else "nothing advertised"
        door = "open for pods" if member.open else "the startup taint stays"
        self.telling.claim(
            (mib, self._reason(member.name), not node.has_startup_taint) == (wanted, member.reason, member.open)
            and node.capacity.get(board.resource) == node.allocatable.get(board.resource),
            f"{member.name} ({member.kind}): {member.reason}, {shown}, {door}",
            f"{self._reason(member.name)}, {mib} MiB, startup taint: {node.has_startup_taint}",
        )

    def wanted_mib(self, member: Member) -> int | None:
        """What the node should advertise: its card's memory, less what the driver keeps, less the margin."""
        if member.card is None:
            return None
        return member.card.total_mib - member.card.reserved_mib - self.company.policy.capacity.margin_mib

    def _reason(self, name: str) -> str:
        explanation = self.company.explanations().get(name)
        return explanation.reason.value if explanation is not None else ""
