"""The API server refuses, breaks off and forgets during a join and a switch: the same ending, and no pod refused."""

import anyio
import pytest

from reconciler.model.sharing import Replicas
from reconciler.sandbox import mishaps
from reconciler.sandbox.faults import Cut, Drop, ErrorEvent, Fault, Late, Lost, Unreachable
from tests.stories.sharing_ending import SharingEnding, sharing_ending
from tests.stories.sharing_stage import anew, gpu_pod, refused, ruled, shared_machine, sharing_stage
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

TWO = ruled(Replicas(2))
SETTLED = 300.0
"""Seconds: the longest back-off is a minute."""
AFTER_TTL = 700.0

ON_REQUESTS: dict[str, Fault] = {
    "409": mishaps.CONFLICT,
    "429": mishaps.THROTTLED,
    "500": mishaps.ERROR_500,
    "no connection": Unreachable(),
    "a lost answer": Lost(),
    "latency": Late(2.0, jitter=5.0),
}
ON_WATCHES: dict[str, Fault] = {"dropped": Drop(), "cut in mid-line": Cut(), "410": ErrorEvent()}


async def tell(play: Stage) -> SharingEnding:
    """A node joins with pods that wait for it, and is switched when they have ended, with others that wait."""
    await gpu_pod(play, "p")
    await play.sandbox.add_node("a", shared_machine())
    await anyio.sleep(SETTLED)
    await play.end("p")
    await anew(play, TWO)
    await anyio.sleep(1)
    await gpu_pod(play, "q")
    await anyio.sleep(SETTLED)
    assert refused(play) == []
    assert play.restless() == []
    await anyio.sleep(AFTER_TTL)
    return sharing_ending(play)


@pytest.fixture(scope="module")
def undisturbed() -> SharingEnding:
    found: list[SharingEnding] = []

    @virtual
    async def alone() -> None:
        async with sharing_stage() as play:
            found.append(await tell(play))

    alone()
    assert (found[0].shares, found[0].offered) == ("True/Sliced", 2)
    return found[0]


@pytest.mark.parametrize("fault", ON_REQUESTS.values(), ids=ON_REQUESTS.keys())
@virtual
async def test_patches_of_the_node_may_fail_a_few_times(fault: Fault, undisturbed: SharingEnding) -> None:
    async with sharing_stage() as play:
        rule = play.faults.add(fault, user=OURS, path="/nodes/", watch=False, chance=0.4, times=8)
        assert await tell(play) == undisturbed
        assert rule.met >= 2, "the fault was met"


@pytest.mark.parametrize("fault", ON_WATCHES.values(), ids=ON_WATCHES.keys())
@virtual
async def test_any_watch_may_break_again_and_again(fault: Fault, undisturbed: SharingEnding) -> None:
    async with sharing_stage() as play:
        rule = play.faults.add(fault, user=OURS, chance=0.2, times=60)
        assert await tell(play) == undisturbed
        assert rule.met >= 2, "the fault was met"


@virtual
async def test_all_faults_at_once_end_as_if_nothing_had_been() -> None:
    for seed in range(2):
        async with sharing_stage(seed=seed) as play:
            for fault in [*ON_REQUESTS.values(), *ON_WATCHES.values()]:
                if not isinstance(fault, Late):
                    play.faults.add(fault, user=OURS, chance=0.04, times=30)
            await gpu_pod(play, "p")
            await play.sandbox.add_node("a", shared_machine())
            await anyio.sleep(2 * SETTLED)
            assert (refused(play), play.restless(), play.taints()) == ([], [], [])
            assert play.pod_phase("p") == "Running"


@virtual
async def test_a_config_map_that_may_not_be_read_is_told_so_and_found_when_it_may() -> None:
    async with sharing_stage(start=False) as play:
        forbidden = play.faults.add(mishaps.FORBIDDEN, user=OURS, path="/namespaces/nvidia-device-plugin/configmaps")
        await play.start()
        await play.sandbox.add_node("a", shared_machine())
        await anyio.sleep(100)
        found = sharing_ending(play)
        assert (found.shares, found.profile) == ("False/ProfileMissing", None)
        assert "may not be read: apply deploy/manifests/sharing" in found.message
        play.faults.remove(forbidden)
        await anyio.sleep(200)
        assert (sharing_ending(play).shares, play.taints()) == ("True/Sliced", [])
