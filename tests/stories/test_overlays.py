"""Karpenter is told what nodes will advertise: overlays come, follow what is learned, step back, and go."""

import anyio
import anyio.lowlevel
import pytest

from reconciler.model import names
from reconciler.model.overlay import OverlayPolicy
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.faults import Drop
from reconciler.sandbox.kinds import CONFIGMAPS, NODECLAIMS, NODEOVERLAYS, NODEPOOLS
from reconciler.sandbox.mishaps import ERROR_500, FORBIDDEN
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.overlay_stage import (
    LOOKS_EVERY,
    make_overlay,
    make_pool,
    overlay_stage,
    standing,
    told,
)
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

MEMORY = names.MEMORY_RESOURCE
T4 = {MEMORY: "14592Mi"}
A10G = {MEMORY: "21743Mi"}


def overlay_writes(play: Stage, who: str = OURS) -> list[str]:
    return [f"{call.method} {call.path}" for call in play.writes(who) if "/nodeoverlays" in call.path]


@virtual
async def test_overlays_come_with_a_nodepool_and_go_with_it_and_a_still_cluster_gets_no_write() -> None:
    """I5, over an hour; and each value is one write."""
    async with overlay_stage() as play:
        assert standing(play) == {}
        await make_pool(play)
        await anyio.sleep(5)
        assert standing(play) == {"g4dn.xlarge": T4, "g5.xlarge": A10G}
        await play.quiet()
        assert len(overlay_writes(play)) == 2
        await play.admin.delete(NODEPOOLS, "", "dev")
        await anyio.sleep(5)
        assert standing(play) == {}
        assert told(play) == []


@virtual
async def test_what_a_probe_teaches_reaches_karpenter_and_never_goes_above_what_its_node_has() -> None:
    async with overlay_stage() as play:
        await make_pool(play)
        await play.join("a", gpus.machine("g4dn.xlarge"))
        assert play.advertised() == T4_MIB
        assert standing(play)["g4dn.xlarge"] == {MEMORY: f"{T4_MIB}Mi"}
        assert standing(play)["g5.xlarge"] == A10G
        await play.quiet()


@virtual
async def test_in_plan_nothing_is_written_and_what_would_be_is_said_once() -> None:
    async with overlay_stage(write=False) as play:
        await make_pool(play)
        await anyio.sleep(5)
        await play.quiet()
        assert (standing(play), overlay_writes(play)) == ({}, [])
        turns = [turn.result for turn in play.replicas[OURS].ear.turns if turn.loop == "overlays"]
        assert turns.count("done") == 1


@virtual
async def test_a_hand_that_edits_or_deletes_ours_is_put_right() -> None:
    async with overlay_stage() as play:
        await make_pool(play)
        await anyio.sleep(5)
        changes: list[Json] = [
            {"spec": {"capacity": {MEMORY: "99Gi"}}},
            {"spec": {"weight": 1}},
            {"spec": {"requirements": []}},
        ]
        for change in changes:
            await play.admin.merge(NODEOVERLAYS, "", "gpu-reconciler-memory-14592mi", change)
            await anyio.sleep(5)
            assert standing(play)["g4dn.xlarge"] == T4
        await play.admin.delete(NODEOVERLAYS, "", "gpu-reconciler-memory-14592mi")
        await anyio.sleep(5)
        assert standing(play)["g4dn.xlarge"] == T4
        await play.quiet()


@virtual
async def test_an_overlay_of_the_same_weight_keeps_its_type_and_both_are_good() -> None:
    """Theirs would win by its name, and cost ours all types."""
    async with overlay_stage() as play:
        await make_overlay(play, "z-theirs", {MEMORY: "1Gi"}, 10, "g4dn.xlarge")
        await make_pool(play)
        await anyio.sleep(10)
        assert standing(play) == {"g5.xlarge": A10G}
        assert conditions(play) == {"z-theirs": "True", "gpu-reconciler-memory-21743mi": "True"}
        await play.admin.merge(NODEOVERLAYS, "", "z-theirs", {"spec": {"weight": 9}})
        await anyio.sleep(10)
        assert standing(play)["g4dn.xlarge"] == T4
        assert set(conditions(play).values()) == {"True"}
        await play.quiet()


@virtual
async def test_a_gate_that_is_off_is_told_on_the_overlay_once_karpenter_was_silent_long_enough() -> None:
    async with overlay_stage(gate=False) as play:
        await make_pool(play)
        await anyio.sleep(60)
        assert told(play) == []
        await anyio.sleep(120)
        assert told(play) == ["OverlaysIgnored"]
        await play.quiet()


@virtual
async def test_the_kinds_may_come_one_by_one_and_nodepools_may_vanish_without_taking_ours_along() -> None:
    """A kind that is gone for a while, or a right, is no evidence that nobody wants overlays."""
    async with overlay_stage(kinds=(NODECLAIMS,)) as play:
        await anyio.sleep(60)
        await play.sandbox.install_karpenter((NODEPOOLS,))
        await make_pool(play)
        await anyio.sleep(2 * LOOKS_EVERY)
        assert overlay_writes(play) == []
        await play.sandbox.install_karpenter((NODEOVERLAYS,))
        await anyio.sleep(OverlayPolicy().look_again.total_seconds() + LOOKS_EVERY)
        assert set(standing(play)) == {"g4dn.xlarge", "g5.xlarge"}

        play.faults.add(FORBIDDEN, user=OURS, path="/nodepools")
        play.faults.add(Drop(), user=OURS, path="/nodepools", times=1)
        await anyio.sleep(600)
        assert play.replicas[OURS].controller.pools.views() == []
        assert set(standing(play)) == {"g4dn.xlarge", "g5.xlarge"}


@virtual
async def test_slices_by_a_templates_own_label_are_told_without_any_rule_for_sharing() -> None:
    async with overlay_stage(policy=OverlayPolicy(slices=True), start=False) as play:
        shared = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
        config_map = {"metadata": {"name": "gpu-profiles"}, "data": {"any": shared}}
        await play.admin.create(CONFIGMAPS, "nvidia-device-plugin", config_map)
        await play.start()
        await make_pool(play, kinds=["g5.xlarge"], metadata={"labels": {names.PLUGIN_CONFIG: "any"}})
        await anyio.sleep(5)
        told_of = [one["spec"]["capacity"] for one in play.sandbox.store.all(NODEOVERLAYS)]
        assert {names.GPU_RESOURCE: "4"} in told_of


@virtual
async def test_a_server_that_cannot_write_them_is_asked_less_and_less_often() -> None:
    async with overlay_stage() as play:
        play.faults.add(ERROR_500, user=OURS, method="POST", path="/nodeoverlays")
        await make_pool(play)
        await anyio.sleep(600)
        assert 5 < len(overlay_writes(play)) < 30


@pytest.mark.parametrize("dies_with", range(10, 24))
@virtual
async def test_a_new_leader_goes_on_where_the_former_stopped(dies_with: int) -> None:
    """Killed with any of its requests; nothing is written twice, and nothing is missing."""
    async with overlay_stage(start=False) as play:
        await make_pool(play)
        await play.start("one", leased=True, dies_with=dies_with)
        await play.start("two", leased=True)
        await anyio.sleep(60)
        assert standing(play) == {"g4dn.xlarge": T4, "g5.xlarge": A10G}
        assert len(overlay_writes(play, "one")) + len(overlay_writes(play, "two")) == 2


def conditions(play: Stage) -> dict[str, str]:
    found = play.sandbox.store.all(NODEOVERLAYS)
    return {one["metadata"]["name"]: one["status"]["conditions"][0]["status"] for one in found}
