"""Pods hold memory: the number is never lowered under them, and never admits what does not fit (invariant I11)."""

from dataclasses import replace

import anyio

from reconciler.sandbox.cluster import eventually
from reconciler.sandbox.nvml_double import T4
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.stage import stage
from tests.stories.telling import virtual

SMALL = gpus.report(replace(T4, total_mib=12_000))
"""NVML finds less than the first guess."""
SMALL_MIB = 12_000 - T4.reserved_mib
GUESS = 15360 - 768


@virtual
async def test_a_number_that_was_too_large_is_lowered_at_once_where_pods_still_fit() -> None:
    async with stage() as play:
        play.answers["a"] = SMALL
        await play.sandbox.add_node("a", gpus.machine())
        await play.pod("p", 10_000)
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (SMALL_MIB, "True/Mismatch")
        assert play.pod_phase("p") == "Running"


@virtual
async def test_a_number_is_not_lowered_under_running_pods_and_follows_them_down() -> None:
    async with stage() as play:
        play.answers["a"] = SMALL
        await play.sandbox.add_node("a", gpus.machine())
        for name, mib in (("p", 6_000), ("q", 5_000), ("r", 3_000)):
            await play.pod(name, mib)
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (14_000, "True/WouldOvercommit")
        await play.pod("late", 100)
        await anyio.sleep(30)
        assert play.pod_phase("late") == "Pending", "no pod is added while too many are there"

        await play.sandbox.restart_kubelet("a", zero=False)
        await anyio.sleep(30)
        assert [play.pod_phase(name) for name in "pqr"] == ["Running"] * 3, "and none is failed by a restart"

        await play.end("late")
        await play.end("r")
        await anyio.sleep(2)
        assert (play.advertised(), play.reason()) == (SMALL_MIB, "True/Mismatch")
        await play.quiet(0.2)


@virtual
async def test_the_number_follows_step_by_step_while_too_many_pods_are_left() -> None:
    async with stage() as play:
        play.answers["a"] = gpus.report(replace(T4, total_mib=5_000))
        await play.sandbox.add_node("a", gpus.machine())
        for name in "pqrs":
            await play.pod(name, 3_000)
        await anyio.sleep(60)
        seen = [play.advertised()]
        for name in "pqrs":
            await play.end(name)
            await anyio.sleep(2)
            seen.append(play.advertised())
        assert seen == [12_000, 9_000, 6_000, 4_550, 4_550]


@virtual
async def test_a_kubelet_that_zeroes_under_pods_loses_none_of_them_to_us() -> None:
    """What was zeroed is healed before the next pod is judged; the sum of requests stays within NVML's figure."""
    async with stage() as play:
        await play.join()
        for name in "pqr":
            await play.pod(name, 4_000)
        await anyio.sleep(10)
        await play.sandbox.restart_kubelet("a", zero=True)
        await anyio.sleep(30)
        assert play.advertised() == T4_MIB
        assert [play.pod_phase(name) for name in "pqr"] == ["Running"] * 3

        await play.pod("s", 4_000)
        await anyio.sleep(30)
        assert play.pod_phase("s") == "Pending"


@virtual
async def test_pods_spread_by_memory_and_stop_at_the_true_limit() -> None:
    async with stage() as play:
        await play.join("a")
        await play.join("b")
        for number in range(8):
            await play.pod(f"p{number}", 3_700)
        await anyio.sleep(30)
        phases = sorted(play.pod_phase(f"p{number}") for number in range(8))
        assert phases == ["Running"] * 8
        await play.pod("more", 3_700)
        await anyio.sleep(30)
        assert play.pod_phase("more") == "Pending"


@virtual
async def test_pods_that_come_before_the_probe_are_held_to_the_small_number() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", replace(gpus.machine(), device_delay=0.0))
        await play.pod("fits", GUESS)
        await eventually(lambda: play.pod_phase("fits") == "Running", "the first pod runs", 3, every=0.05)
        await play.pod("waits", T4_MIB - GUESS)
        await anyio.sleep(0.5)
        assert (play.advertised(), play.pod_phase("waits")) == (GUESS, "Pending")
        await anyio.sleep(30)
        assert (play.advertised(), play.pod_phase("waits")) == (T4_MIB, "Running")
