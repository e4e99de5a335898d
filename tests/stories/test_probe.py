"""The probe ends in every way it can: each verdict is said on the node, and tried again after an hour."""

import itertools
from dataclasses import replace

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.model.probe_report import MAX_BYTES, SCHEMA, ProbeReason
from reconciler.sandbox.kinds import JOBS, PODS
from reconciler.sandbox.nvml_double import T4
from reconciler.sandbox.programs import Exit, Waiting
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.stage import PROBE, Stage, stage
from tests.stories.telling import virtual

GUESS = 15360 - 768
STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"

NO_GPU_TO_USE = [
    ProbeReason.LIBRARY_NOT_FOUND,
    ProbeReason.DRIVER_NOT_LOADED,
    ProbeReason.VERSION_MISMATCH,
    ProbeReason.GPU_LOST,
    ProbeReason.NO_GPU,
]
NO_FIGURE = [
    ProbeReason.NO_PERMISSION,
    ProbeReason.NOT_SUPPORTED,
    ProbeReason.UNIFIED_MEMORY,
    ProbeReason.TIMEOUT,
    ProbeReason.UNEXPECTED,
]
BAD_REPORTS = {
    "empty": Exit(0, ""),
    "no JSON": Exit(0, "Traceback (most recent call last):"),
    "truncated": Exit(0, gpus.report(T4).message[:100]),
    "another program's": Exit(0, '{"ok":true}'),
    "future version": Exit(0, gpus.report(T4).message.replace(SCHEMA, SCHEMA.replace("v1", "v2"))),
    "oversized": Exit(0, gpus.report(T4).message.replace(gpus.DRIVER, "5" * MAX_BYTES)),
    "not UTF-8": Exit(0, b"\xff\xfe{\x00".decode(errors="replace")),
    "negative memory": Exit(0, gpus.report(T4).message.replace("16106127360", "-1")),
}


def tries(play: Stage) -> int:
    """Probe Jobs that were made."""
    return sum(call.path.endswith("/jobs") and call.status == 201 for call in play.writes())


@pytest.mark.parametrize("reason", NO_GPU_TO_USE)
@virtual
async def test_a_gpu_that_cannot_be_used_is_not_advertised_and_the_node_says_why(reason: ProbeReason) -> None:
    async with stage() as play:
        play.answers["a"] = gpus.refusal(reason, "as the driver said")
        await play.join("a", gpus.machine(taints=(STARTUP,)))
        await anyio.sleep(55)
        assert (play.advertised(), play.reason()) == (None, "False/NoNVML")
        assert reason.value in play.condition()["message"]
        assert "as the driver said" in play.condition()["message"]
        assert names.STARTUP_TAINT in play.taints(), "no pods for a broken GPU"
        assert tries(play) == 1


@pytest.mark.parametrize("reason", NO_FIGURE)
@virtual
async def test_a_probe_without_figures_leaves_the_guess_and_says_so(reason: ProbeReason) -> None:
    async with stage() as play:
        play.answers["a"] = gpus.refusal(reason)
        await play.join("a", gpus.machine(taints=(STARTUP,)))
        await anyio.sleep(180)
        assert (play.advertised(), play.reason()) == (GUESS, "True/Unverified")
        assert reason.value in play.condition()["message"]
        assert play.taints() == []


@pytest.mark.parametrize("left", BAD_REPORTS.values(), ids=BAD_REPORTS.keys())
@virtual
async def test_a_message_that_is_no_report_is_told_and_believed_in_nothing(left: Exit) -> None:
    async with stage() as play:
        play.answers["a"] = left
        await play.join()
        assert (play.advertised(), play.reason()) == (GUESS, "True/Unverified")
        assert "BadReport" in play.condition()["message"]


WAITS = {
    "image": Waiting("ImagePullBackOff", 'Back-off pulling image "gpu-reconciler:test": not found'),
    "configuration": Waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
    "runtime": Waiting("CreateContainerError", "nvidia-container-cli: initialization error: nvml error"),
}


@pytest.mark.parametrize("waiting", WAITS.values(), ids=WAITS.keys())
@virtual
async def test_a_probe_that_never_starts_is_an_answer_when_its_deadline_has_passed(waiting: Waiting) -> None:
    async with stage() as play:
        play.answers["a"] = waiting
        await play.join()
        assert (play.advertised(), play.reason()) == (GUESS, "True/Provisional")
        await anyio.sleep(PROBE.deadline)
        assert (play.advertised(), play.reason()) == (GUESS, "True/Unverified")
        assert waiting.reason in play.condition()["message"]
        assert "NotStarted" in play.condition()["message"]
        assert tries(play) == 1


@virtual
async def test_a_probe_that_could_not_start_goes_on_when_it_can() -> None:
    async with stage() as play:
        play.answers["a"] = WAITS["image"]
        await play.join()
        del play.answers["a"]
        await anyio.sleep(30)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 1)


@virtual
async def test_a_driver_that_loads_late_is_waited_for_within_the_job() -> None:
    """Exit codes below 20 may change: the Job tries again by itself."""
    async with stage() as play:
        play.answers["a"] = gpus.refusal(ProbeReason.DRIVER_NOT_LOADED)
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(15)
        assert play.reason() == "True/Provisional"
        del play.answers["a"]
        await anyio.sleep(30)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 1)


@virtual
async def test_after_a_final_verdict_the_probe_is_tried_again_after_minutes_and_in_the_end_every_hour() -> None:
    async with stage() as play:
        play.answers["a"] = gpus.refusal(ProbeReason.NO_GPU)
        await play.join()
        await anyio.sleep(2 * 3600 + 600)
        made = [call.at for call in play.writes() if call.path.endswith("/jobs") and call.status == 201]
        waits = [round((after - before).total_seconds() / 60) for before, after in itertools.pairwise(made)]
        assert waits == [2, 4, 8, 16, 32, 60]
        assert play.reason() == "False/NoNVML"

        del play.answers["a"]
        await anyio.sleep(3600)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 8)
        await anyio.sleep(2 * 3600)
        assert tries(play) == 8


@virtual
async def test_an_ended_job_that_is_kept_for_a_day_does_not_stand_in_the_way_of_the_next_try() -> None:
    async with stage(probe=replace(PROBE, ttl=86_400)) as play:
        play.answers["a"] = gpus.refusal(ProbeReason.NO_GPU)
        await play.join()
        del play.answers["a"]
        await anyio.sleep(3700)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 2)
        assert len(play.jobs()) == 2


@virtual
async def test_a_lost_gpu_is_told_and_looked_for_again() -> None:
    policy = CapacityPolicy(multi_gpu=MultiGpu.SUM)
    async with stage(policy=policy) as play:
        play.answers["a"] = gpus.report(T4, 4, lost=[2])
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4))
        assert (play.advertised(), play.reason()) == (3 * T4_MIB, "True/GPULost")
        assert "3 of 4" in play.condition()["message"]
        play.answers["a"] = gpus.report(T4, 4)
        await anyio.sleep(3700)
        assert (play.advertised(), play.reason()) == (4 * T4_MIB, "True/Verified")


@virtual
async def test_a_node_that_ec2_and_nvml_see_differently_says_so_and_follows_nvml() -> None:
    async with stage() as play:
        play.answers["a"] = gpus.report(replace(T4, total_mib=20_000))
        await play.join()
        assert (play.advertised(), play.reason()) == (20_000 - 450, "True/Mismatch")
        assert play.events() == ["Provisional", "Mismatch"]


@virtual
async def test_without_probes_the_guess_stays_and_no_job_is_made() -> None:
    async with stage(policy=CapacityPolicy(probe=False)) as play:
        await play.join("a", gpus.machine(taints=(STARTUP,)))
        assert (play.advertised(), play.reason(), tries(play)) == (GUESS, "True/Unverified", 0)
        assert play.taints() == []
        await play.quiet(0.5)


@virtual
async def test_a_probe_pod_that_is_evicted_is_replaced_by_its_job() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(2)
        pod = next(iter(play.probe_pods()))
        await play.admin.delete(PODS, "gpu-reconciler", pod["metadata"]["name"])
        await anyio.sleep(60)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 1)


@virtual
async def test_a_probe_job_that_somebody_deletes_is_run_again() -> None:
    async with stage() as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(2)
        await play.admin.delete(JOBS, "gpu-reconciler", play.jobs()[0]["metadata"]["name"])
        await anyio.sleep(60)
        assert (play.advertised(), play.reason(), tries(play)) == (T4_MIB, "True/Verified", 2)
