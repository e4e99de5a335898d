"""Whatever happens in whatever order: when it is over, every number is right and nothing moves (I5, I6, I11, I12)."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reconciler.model import names
from reconciler.sandbox.encoding import decode
from tests.stories.ending import Ending, ending
from tests.stories.history import (
    CARDS,
    FAULTS,
    Crash,
    Edit,
    End,
    History,
    Join,
    Leave,
    Restart,
    Run,
    Step,
    Trouble,
    Wait,
)
from tests.stories.stage import OURS, Stage, stage
from tests.stories.telling import virtual

SETTLED = 1000.0
"""Seconds: longer than a contest, a back-off and the TTL of a probe."""

NODE_NAMES = st.sampled_from(["a", "b"])
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(Join, NODE_NAMES, st.sampled_from(sorted(CARDS)), st.booleans()),
    st.builds(Restart, NODE_NAMES, st.booleans(), st.booleans()),
    st.builds(
        Edit,
        NODE_NAMES,
        st.sampled_from([None, "0", "1Mi", "77777"]),
        st.sampled_from([("capacity",), ("allocatable",), ("capacity", "allocatable")]),
    ),
    st.builds(Run, st.integers(1, 16_000)),
    st.builds(Trouble, st.sampled_from([None, *FAULTS])),
    st.builds(Wait, st.floats(0.0, 40.0)),
    st.sampled_from([Leave("a"), End(), Crash()]),
)


async def tell(play: Stage, steps: Sequence[Step]) -> Ending:
    """Carry the steps out, let all settle, and check what must hold."""
    history = History(play)
    await history.do(Join("a", "g4dn.xlarge", startup_taint=True))
    for step in steps:
        await history.do(step)
        await anyio.sleep(0.3)
        history.nothing_is_overfull()
    play.faults.clear()
    await anyio.sleep(SETTLED)
    history.nothing_is_overfull()
    history.right()
    assert play.restless() == []
    await play.quiet(0.05)
    only_our_own(play)
    return ending(play)


def only_our_own(play: Stage) -> None:
    """I6: no patch of ours ever named anything of others', but for the list of taints, which is written whole."""
    for call in play.writes():
        if not call.path.endswith("/status"):
            continue
        body = decode(call.body)
        meta, status = body.pop("metadata"), body.pop("status", {})
        assert body == {}
        assert meta.keys() <= {"uid", "labels", "annotations"}
        assert meta.get("labels", {}).keys() <= set(names.OUR_LABELS)
        assert meta.get("annotations", {}).keys() <= {names.RECORD}
        assert status.keys() <= {"capacity", "allocatable", "conditions"}
        for part in ("capacity", "allocatable"):
            assert status.get(part, {}).keys() <= {names.MEMORY_RESOURCE}
            assert status.get(part, {}).get(names.MEMORY_RESOURCE) != "0", "never 0"
        assert [one["type"] for one in status.get("conditions", [])] in ([], [names.CONDITION])


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.lists(STEPS, min_size=3, max_size=14))
def test_any_history_ends_well(steps: list[Step]) -> None:
    @virtual
    async def play_it() -> None:
        async with stage() as play:
            await tell(play, steps)

    play_it()


EVENTFUL: Sequence[Step] = (
    Run(4_000),
    Trouble(FAULTS[2]),
    Join("b", "g5.xlarge", startup_taint=False),
    Wait(7.0),
    Restart("a", zero=True, reboot=True),
    Run(9_000),
    Crash(),
    Trouble(None),
    Trouble(FAULTS[6]),
    Edit("b", None, ("capacity",)),
    Join("a", "g6f.large", startup_taint=True),
    Run(900),
    End(),
)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_gives_the_same_story_to_the_last_request(seed: int) -> None:
    told: list[tuple[Ending, list[str]]] = []

    @virtual
    async def play_it() -> None:
        async with stage(seed=seed) as play:
            found = await tell(play, EVENTFUL)
            told.append((found, [f"{call.at} {call} {call.body!r}" for call in play.sandbox.record.calls]))

    play_it()
    play_it()
    assert told[0] == told[1]
    assert [call for call in told[0][1] if f" {OURS}: " in call]
