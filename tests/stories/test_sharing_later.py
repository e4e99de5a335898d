"""The rules change while nodes run: a node is switched with no pod on its GPUs, never by surprise, or not at all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import pytest

from reconciler.model import fence, names
from reconciler.model.node import Taint
from reconciler.model.policy import Later, SlicingPolicy, SlicingRule
from reconciler.model.sharing import Exclusive, Named, Replicas
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.plugin_chart import EXCLUSIVE, sliced
from tests.stories.sharing_stage import (
    FOUR,
    anew,
    gpu_pod,
    offered,
    profile,
    refused,
    ruled,
    shared_machine,
    shares,
    sharing_condition,
    sharing_stage,
)
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

TWO = ruled(Replicas(2))
FENCE = ruled(Replicas(2), later=Later.FENCE, fence_for=timedelta(minutes=10))


def fences(play: Stage) -> list[str]:
    """The values of the fences on the node."""
    taints = play.node()["spec"].get("taints") or []
    return [str(taint["value"]) for taint in taints if taint["key"] == names.FENCE_TAINT]


@asynccontextmanager
async def sliced_in_four() -> AsyncIterator[Stage]:
    """A node that runs for a while."""
    async with sharing_stage() as play:
        await play.join("a", shared_machine())
        assert (shares(play), profile(play)) == ("True/Sliced", "ts-4")
        await anyio.sleep(100)
        yield play


def settled(play: Stage, slots: int) -> None:
    assert (shares(play), offered(play)) == ("True/Exclusive" if slots == 1 else "True/Sliced", slots)
    assert (play.taints(), refused(play), play.restless()) == ([], [], [])


@pytest.mark.parametrize("policy", [TWO, FENCE], ids=["idle", "fence"])
@virtual
async def test_an_idle_node_is_switched_behind_a_fence(policy: SlicingPolicy) -> None:
    async with sliced_in_four() as play:
        await anew(play, policy)
        await anyio.sleep(0.5)
        assert (len(fences(play)), profile(play)) == (1, "ts-4"), "first nobody may come, then the label"
        await gpu_pod(play, "early")
        await anyio.sleep(60)
        settled(play, 2)
        assert play.pod_phase("early") == "Running"
        await play.quiet(0.2)


@virtual
async def test_a_profile_of_the_same_number_opens_the_node_no_sooner() -> None:
    """The plugin starts anew for it all the same, and in that gap its kubelet has no device for anybody."""
    configs = {"exclusive": EXCLUSIVE, "any": sliced(4), "ts-4": sliced(4)}
    async with sharing_stage(ruled(Named("any")), configs=configs) as play:
        await play.join("a", shared_machine())
        await anyio.sleep(100)
        await anew(play, FOUR)
        await anyio.sleep(1)
        for number in range(3):
            await gpu_pod(play, f"p{number}")
        await anyio.sleep(60)
        settled(play, 4)
        assert profile(play) == "ts-4"
        assert [play.pod_phase(f"p{number}") for number in range(3)] == ["Running"] * 3


@virtual
async def test_a_node_in_use_is_switched_when_its_pods_have_ended() -> None:
    async with sliced_in_four() as play:
        await gpu_pod(play, "long")
        await anyio.sleep(10)
        await anew(play, TWO)
        await anyio.sleep(600)
        assert (shares(play), profile(play), fences(play)) == ("False/InUse", "ts-4", [])
        await gpu_pod(play, "another")
        await anyio.sleep(10)
        assert play.pod_phase("another") == "Running", "nobody is kept away meanwhile"

        await play.end("long")
        await play.end("another")
        await anyio.sleep(60)
        settled(play, 2)


@virtual
async def test_a_fence_keeps_new_pods_away_until_those_that_run_have_ended() -> None:
    async with sliced_in_four() as play:
        await gpu_pod(play, "long")
        await anyio.sleep(10)
        await anew(play, FENCE)
        await anyio.sleep(5)
        assert (shares(play), profile(play), len(fences(play))) == ("False/Fenced", "ts-4", 1)
        await gpu_pod(play, "late")
        await anyio.sleep(100)
        assert (play.pod_phase("long"), play.pod_phase("late")) == ("Running", "Pending")

        await play.end("long")
        await anyio.sleep(60)
        settled(play, 2)
        assert play.pod_phase("late") == "Running"


@virtual
async def test_a_fence_gives_up_at_its_deadline_rests_as_long_and_comes_again() -> None:
    async with sliced_in_four() as play:
        await gpu_pod(play, "long")
        await anyio.sleep(10)
        await anew(play, FENCE)
        await anyio.sleep(5)
        first = fences(play)
        await gpu_pod(play, "late")
        await anyio.sleep(620)
        assert (shares(play), profile(play), fences(play)) == ("False/InUse", "ts-4", [])
        assert play.pod_phase("late") == "Running", "the node is open again"
        await play.quiet(0.1)
        await anyio.sleep(300)
        assert len(fences(play)) == 1, "once more"
        assert fences(play) != first
        await play.end("long")
        await play.end("late")
        await anyio.sleep(60)
        settled(play, 2)


@virtual
async def test_a_policy_of_never_leaves_running_nodes_and_says_what_would_help() -> None:
    async with sliced_in_four() as play:
        await anew(play, ruled(Replicas(2), later=Later.NEVER))
        await anyio.sleep(300)
        assert (shares(play), profile(play), play.taints()) == ("False/NotNow", "ts-4", [])
        assert "replace the node" in sharing_condition(play)["message"]
        await play.quiet(0.2)


@virtual
async def test_back_to_the_whole_gpu() -> None:
    async with sliced_in_four() as play:
        await anew(play, ruled(Exclusive()))
        await anyio.sleep(60)
        settled(play, 1)
        assert profile(play) == "exclusive"


@virtual
async def test_a_rule_that_goes_away_leaves_the_label_and_takes_our_word_back() -> None:
    """To remove the label would switch the node by surprise."""
    async with sliced_in_four() as play:
        nobody = SlicingPolicy(rules=(SlicingRule(Replicas(2), labels={"no": "node"}),))
        await anew(play, nobody)
        await anyio.sleep(60)
        assert (shares(play), profile(play), offered(play), play.taints()) == ("", "ts-4", 4, [])
        assert play.reason() == "True/Verified"
        await play.quiet(0.2)

        await anew(play, TWO)
        await anyio.sleep(60)
        settled(play, 2)


@pytest.mark.parametrize("policy", [FOUR, FENCE], ids=["nothing to switch", "a switch to make"])
@virtual
async def test_a_fence_of_ours_that_is_found_after_a_crash_is_gone_by_its_deadline(policy: SlicingPolicy) -> None:
    """I3: whoever finds it reads in it when it must go."""
    async with sliced_in_four() as play:
        play.replicas[OURS].kill()
        await gpu_pod(play, "long")
        await anyio.sleep(5)
        await put(play, fence.taint(fence.SLICING, play.sandbox.clock.now() + timedelta(minutes=5)))
        play.slicing = policy
        await play.start()
        await anyio.sleep(330)
        assert fences(play) == []


@virtual
async def test_a_fence_of_somebody_else_s_stays_for_ever() -> None:
    async with sliced_in_four() as play:
        theirs = fence.taint("rebalance", play.sandbox.clock.now() - timedelta(minutes=5))
        await put(play, theirs)
        await anyio.sleep(300)
        await anew(play, TWO)
        await anyio.sleep(100)
        assert fences(play) == [theirs.value]
        assert (shares(play), offered(play)) == ("True/Sliced", 2), "and is as good as ours to switch behind"
        assert "/nodes/a" not in {call.path.removeprefix("/api/v1") for call in play.writes()[-3:]}
        await play.quiet(0.1)


async def put(play: Stage, taint: Taint) -> None:
    """Somebody puts a taint on the node."""
    there = play.node()["spec"].get("taints") or []
    one = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    await play.admin.merge(NODES, "", "a", {"spec": {"taints": [*there, one]}})
