"""The process dies with any request of a join or a switch, and the next one ends where one alone would have (I3)."""

import functools
from collections.abc import Awaitable, Callable

import anyio
import pytest

from reconciler.model import names
from reconciler.model.sharing import Replicas
from tests.stories.sharing_ending import SharingEnding, sharing_ending
from tests.stories.sharing_stage import anew, gpu_pod, refused, ruled, shared_machine, shares, sharing_stage
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

TWO = ruled(Replicas(2))
LIFE = 40.0
"""Seconds that the first process has: enough for a join, and for a switch."""
SETTLED = 100.0
AFTER_TTL = 700.0
"""Seconds until Kubernetes has removed an ended probe."""
JOIN, SWITCH = 25, 17
"""As many requests as a process makes meanwhile, watches included."""

Story = Callable[[Stage, int | None], Awaitable[SharingEnding]]


async def join(play: Stage, dies_with: int | None) -> SharingEnding:
    """A node joins."""
    await play.start("first", dies_with=dies_with)
    await anyio.sleep(1)
    await gpu_pod(play, "p")
    await play.sandbox.add_node("a", shared_machine())
    await anyio.sleep(LIFE)
    return await told(play, dies_with, JOIN)


async def switch(play: Stage, dies_with: int | None) -> SharingEnding:
    """Then its rule changes, and it is idle."""
    await play.start()
    await play.join("a", shared_machine())
    await anyio.sleep(AFTER_TTL)
    play.replicas[OURS].kill()
    play.slicing = TWO
    await play.start("first", dies_with=dies_with)
    await anyio.sleep(LIFE)
    return await told(play, dies_with, SWITCH)


async def told(play: Stage, dies_with: int | None, most: int) -> SharingEnding:
    """How it ends, with a pod that comes as soon as it can."""
    if dies_with is not None:
        play.replicas["first"].kill()
        await play.start("second")
    else:
        assert play.replicas["first"].transport.requests == most
    await anyio.sleep(SETTLED)
    assert play.restless() == []
    assert refused(play) == []
    assert names.FENCE_TAINT not in play.taints()
    await anyio.sleep(AFTER_TTL)
    return sharing_ending(play)


def end(story: Story, dies_with: int | None) -> SharingEnding:
    found: list[SharingEnding] = []

    @virtual
    async def tell() -> None:
        async with sharing_stage(start=False) as play:
            found.append(await story(play, dies_with))

    tell()
    return found[0]


@functools.cache
def undisturbed(story: Story) -> SharingEnding:
    found = end(story, None)
    assert found.shares == "True/Sliced"
    return found


@pytest.mark.parametrize("number", range(1, JOIN + 1))
def test_a_join_whose_process_dies_is_continued_by_the_next(number: int) -> None:
    assert end(join, number) == undisturbed(join)


@pytest.mark.parametrize("number", range(1, SWITCH + 1))
def test_a_switch_whose_process_dies_is_continued_by_the_next(number: int) -> None:
    assert end(switch, number) == undisturbed(switch)


@virtual
async def test_of_two_replicas_one_shares_and_the_other_takes_over_in_the_middle_of_a_switch() -> None:
    async with sharing_stage(start=False) as play:
        await play.start("one", leased=True)
        await play.start("two", leased=True)
        await anyio.sleep(10)
        await play.join("a", shared_machine())
        assert shares(play) == "True/Sliced"
        leader = next(name for name, replica in play.replicas.items() if replica.lease.leading)
        assert [name for name in play.replicas if play.writes(name)] == [leader]

        for name in list(play.replicas):
            play.replicas[name].kill()
        play.slicing = TWO
        await play.start("three", leased=True, dies_with=14)
        await play.start("four", leased=True)
        await anyio.sleep(SETTLED)
        assert (shares(play), play.taints(), refused(play)) == ("True/Sliced", [], [])
        assert play.replicas["four"].lease.leading
        assert play.restless() == []


@virtual
async def test_a_process_that_is_started_again_and_again_writes_no_more_than_one() -> None:
    async with sharing_stage() as play:
        await play.join("a", shared_machine())
        before = len(play.writes())
        for _ in range(3):
            await anew(play, play.slicing)
            await anyio.sleep(20)
        assert [str(call) for call in play.writes()[before:]] == []
