"""Whatever takes the number away or changes it, it is right again within seconds (invariant I12)."""

from dataclasses import replace

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, ExistingValue
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.faults import Late
from reconciler.sandbox.kinds import NODES
from reconciler.sandbox.nvml_double import T4
from tests.stories import gpus
from tests.stories.ending import ending
from tests.stories.gpus import A10G_MIB, T4_MIB
from tests.stories.stage import OURS, Stage, stage
from tests.stories.telling import virtual

SECONDS = 2.0
"""`Within seconds`, with the watch's delay in it."""


@virtual
async def test_a_kubelet_restart_that_zeroes_the_resource_is_healed_within_seconds() -> None:
    async with stage() as play:
        await play.join()
        before = len(play.writes())
        await play.sandbox.restart_kubelet("a", zero=True)
        await anyio.sleep(SECONDS)
        assert play.advertised() == T4_MIB
        await anyio.sleep(60)
        assert play.advertised() == T4_MIB
        assert len(play.writes()) - before == 1, "one write heals, and no probe is run: it is the same boot"
        await play.quiet(0.2)


@virtual
async def test_a_node_that_changes_while_our_patch_is_on_its_way_is_not_patched_again() -> None:
    """The kubelet writes its status right after the zero; our answer comes before the watch tells of our write."""
    async with stage() as play:
        await play.join()
        play.faults.add(Late(0.2), user=OURS, path="/nodes/", watch=False)
        before = len(play.writes())
        await play.set_resource("a", 0)
        await anyio.sleep(0.1)
        await play.admin.merge(NODES, "", "a", {"metadata": {"labels": {"example.com/other": "change"}}})
        await anyio.sleep(30)
        assert (play.advertised(), len(play.writes()) - before) == (T4_MIB, 1)
        await play.quiet(0.1)


@virtual
async def test_a_kubelet_restart_that_zeroes_nothing_needs_nothing() -> None:
    async with stage() as play:
        await play.join()
        before = len(play.writes())
        await play.sandbox.restart_kubelet("a", zero=False)
        await anyio.sleep(60)
        assert (play.advertised(), len(play.writes())) == (T4_MIB, before)


@pytest.mark.parametrize("value", [None, "0", 100, 99_999, "1500", "1500k"])
@pytest.mark.parametrize("parts", [("capacity", "allocatable"), ("capacity",), ("allocatable",)])
@virtual
async def test_a_hand_edit_is_put_right(value: int | str | None, parts: tuple[str, ...]) -> None:
    async with stage() as play:
        await play.join()
        await play.set_resource("a", value, *parts)
        await anyio.sleep(SECONDS)
        assert play.advertised() == T4_MIB
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        assert play.restless() == []


@virtual
async def test_equal_amounts_in_other_words_are_no_difference() -> None:
    async with stage() as play:
        await play.join()
        before = len(play.writes())
        await play.set_resource("a", str(T4_MIB * 1024 * 1024))
        await anyio.sleep(60)
        assert len(play.writes()) == before


EDITS: dict[str, Json] = {
    "a label changed": {"labels": {names.LABEL_COUNT: "8"}},
    "a label removed": {"labels": {names.LABEL_SOURCE: None}},
    "the record emptied": {"annotations": {names.RECORD: "{}"}},
    "the record of a later version": {"annotations": {names.RECORD: '{"v":99}'}},
    "the record removed": {"annotations": {names.RECORD: None}},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
@virtual
async def test_our_own_words_on_the_node_are_put_right_as_well(edit: Json) -> None:
    async with stage() as play:
        await play.join()
        good = ending(play).nodes
        await play.admin.merge(NODES, "", "a", {"metadata": edit})
        await anyio.sleep(60)
        assert ending(play).nodes == good
        await play.quiet(0.05)


@virtual
async def test_our_condition_is_put_right_as_well() -> None:
    async with stage() as play:
        await play.join()
        good = ending(play).nodes
        condition = {"type": names.CONDITION, "status": "False", "reason": "Odd", "message": "?"}
        await play.admin.strategic(NODES, "", "a", {"status": {"conditions": [condition]}}, subresource="status")
        await anyio.sleep(SECONDS)
        assert ending(play).nodes == good


@virtual
async def test_a_daemonset_that_patches_capacity_beside_us_is_told_and_then_left_alone() -> None:
    """It writes every 20 s, as the hand-made recipe does: we put it right a few times, stop, and try again later."""
    async with stage() as play, anyio.create_task_group() as tasks:
        await play.join()

        async def patch_for_ever() -> None:
            while True:
                await play.set_resource("a", 15_000, "capacity")
                await anyio.sleep(20)

        tasks.start_soon(patch_for_ever)
        await anyio.sleep(240)
        assert play.reason() == "False/Contested"
        assert "capacity.existing_value" in play.condition()["message"]
        stopped = len(play.writes())
        await anyio.sleep(180)
        assert len(play.writes()) == stopped, "no write while it is left alone"

        await anyio.sleep(1200)
        assert len(play.writes()) - stopped <= 2 * 20, "after the window we try again, and stop again"
        tasks.cancel_scope.cancel()


@virtual
async def test_after_the_contest_is_over_the_number_is_ours_again() -> None:
    async with stage() as play:
        await play.join()
        for _ in range(8):
            await play.set_resource("a", 15_000, "capacity")
            await anyio.sleep(11)
        assert play.reason() == "False/Contested"
        await anyio.sleep(700)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        await play.quiet(0.5)


@virtual
async def test_somebody_elses_number_from_before_is_taken_over() -> None:
    async with stage(start=False) as play:
        await play.sandbox.add_node("a", gpus.machine())
        await play.set_resource("a", 15_109, "capacity")
        await anyio.sleep(60)
        await play.start()
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_somebody_elses_number_is_left_to_them_where_the_policy_says_so() -> None:
    async with stage(start=False, policy=CapacityPolicy(existing_value=ExistingValue.LEAVE)) as play:
        await play.sandbox.add_node("a", gpus.machine())
        await play.set_resource("a", 15_109, "capacity")
        await anyio.sleep(60)
        await play.start()
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (15_109, "False/ForeignValue")

        await play.set_resource("a", 14_000, "capacity")
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (14_000, "False/ForeignValue")

        await play.set_resource("a", None)
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        await play.quiet(0.2)


@virtual
async def test_a_node_re_created_under_its_name_is_a_new_node() -> None:
    async with stage() as play:
        await play.join()
        await play.sandbox.replace_node("a", replace(gpus.machine("g5.xlarge"), boot_id="another"))
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (A10G_MIB, "True/Verified")
        assert play.record().boot_id == "another"
        await play.quiet(0.5)
        assert play.jobs() == []


@virtual
async def test_a_patch_that_was_on_its_way_does_not_land_on_a_namesake() -> None:
    async with stage() as play:
        play.faults.add(Late(5.0), user=OURS, path="/nodes/a", times=1)
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(1)
        await play.sandbox.replace_node("a", gpus.machine("m5.large", gpus=0))
        await anyio.sleep(60)
        assert [call.status for call in play.writes() if "/nodes/a" in call.path] == [422]
        assert (play.advertised(), play.reason()) == (None, "")


@virtual
async def test_a_rebooted_node_keeps_its_number_and_is_probed_again() -> None:
    async with stage() as play:
        await play.join()
        await play.sandbox.restart_kubelet("a", zero=False, boot_id="second-boot")
        await anyio.sleep(SECONDS)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Learned")
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        assert play.record().boot_id == "second-boot"
        assert _probes(play) == 2


@virtual
async def test_a_reboot_that_zeroes_and_brings_a_larger_reserve_ends_right() -> None:
    async with stage() as play:
        await play.join()
        play.answers["a"] = gpus.report(replace(T4, reserved_mib=600), driver="590.1")
        await play.sandbox.restart_kubelet("a", zero=True, boot_id="second-boot")
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (15360 - 600, "True/Verified")
        await play.quiet(0.2)


@virtual
async def test_a_renamed_resource_is_withdrawn_under_its_old_name() -> None:
    async with stage() as play:
        await play.join()
        play.replicas["ours"].stop()
        await play.start("later", policy=CapacityPolicy(resource="veriff.com/gpu-memory"))
        await anyio.sleep(10)
        assert play.advertised() == T4_MIB
        for part in ("capacity", "allocatable"):
            assert names.MEMORY_RESOURCE not in play.node()["status"][part]
        await play.quiet(0.2, who="later")


def _probes(play: Stage) -> int:
    return sum(call.path.endswith("/jobs") and call.status == 201 for call in play.writes())
