"""How did a story of sharing end? What the node says and offers, without times, so that two endings can be compared."""

from dataclasses import dataclass, replace

from reconciler.model import names
from reconciler.model import sharing_record as records
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing_record import SharingRecord
from tests.stories.ending import Ending, ending
from tests.stories.sharing_stage import offered, profile, refused, shares, sharing_condition
from tests.stories.stage import Stage


@dataclass(frozen=True, slots=True)
class SharingEnding:
    memory: Ending
    """Taints included: no fence is left. Which of two events came last is left out."""
    told: bool
    """Whether people were told of both answers as they stand."""
    profile: str | None
    offered: int
    shares: str
    message: str
    record: SharingRecord | UnreadableRecord | None
    refused: tuple[str, ...]


def sharing_ending(play: Stage) -> SharingEnding:
    """The state of node a now."""
    text = play.node()["metadata"]["annotations"].get(names.SHARING_RECORD)
    record = None if text is None else records.parse(text)
    memory = ending(play)
    nodes = tuple((name, replace(node, told="")) for name, node in memory.nodes)
    answers = {text.rpartition("/")[2] for text in (play.reason(), shares(play)) if text}
    return SharingEnding(
        replace(memory, nodes=nodes),
        answers <= set(play.events()),
        profile(play),
        offered(play),
        shares(play),
        str(sharing_condition(play).get("message", "")),
        replace(record, at=None) if isinstance(record, SharingRecord) else record,
        tuple(refused(play)),
    )
