"""A person verifies nodes: every way in which a pod does not get the GPU that the node promises has its sentence."""

from dataclasses import replace

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.model.probe_report import ProbeReason
from reconciler.model.verification import StepName, StepState, Verification
from reconciler.model.verification_record import Result
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.kinds import JOBS, NODES, PODS
from reconciler.sandbox.nvml_double import A10G, T4
from reconciler.sandbox.programs import Exit, Waiting
from tests.stories import gpus
from tests.stories.person import JOB, PERSON, person
from tests.stories.stage import stage
from tests.stories.telling import virtual


def sentence(found: Verification, name: StepName) -> tuple[str, str]:
    [step] = [step for step in found.steps if step.name is name]
    return step.state.value, step.sentence


def failed(found: Verification) -> list[StepName]:
    return [step.name for step in found.failed]


def reason_of(found: Verification) -> str:
    """The sentence of the only step that failed."""
    [step] = found.failed
    return step.sentence


@virtual
async def test_a_node_that_keeps_its_promise_is_verified_step_by_step() -> None:
    """The pod asks the scheduler for a GPU and a little memory, and every step says what it saw."""
    async with stage() as play, person(play) as who:
        await play.join()
        found = await who.one()
        assert (found.result, [step.name for step in found.steps]) == (Result.VERIFIED, list(StepName))
        assert {step.state for step in found.steps} == {StepState.OK}
        assert sentence(found, StepName.MODEL)[1] == "Tesla T4, as the node's record says (T4)"
        assert "14910 MiB that are advertised fit" in sentence(found, StepName.MEMORY)[1]
        [job] = [job for job in play.jobs() if job["metadata"]["name"] == found.job]
        container = job["spec"]["template"]["spec"]["containers"][0]
        assert container["resources"]["limits"] == {
            "memory": "64Mi", names.GPU_RESOURCE: "1", names.MEMORY_RESOURCE: "64Mi",
        }  # fmt: skip
        assert "nodeName" not in job["spec"]["template"]["spec"]
        assert who.heard == []
        await play.quiet(0.5)


@virtual
async def test_a_verification_is_no_probe_to_the_controller() -> None:
    """Another label: what a pod with one GPU sees is not taken for what the node has."""
    async with stage() as play, person(play) as who:
        await play.join()
        before = play.record()
        play.answers["a"] = gpus.report(A10G)
        await who.one()
        await anyio.sleep(60)
        assert play.record() == before
        assert play.restless() == []


@virtual
async def test_slices_are_asked_for_by_the_name_that_the_node_offers_and_counted() -> None:
    shared = {names.GFD_COUNT: "1", names.GFD_REPLICAS: "4"}
    async with stage() as play, person(play) as who:
        machine = gpus.machine(labels=shared)
        await play.join("a", replace(machine, devices={names.GPU_SHARED_RESOURCE: 4}))
        await play.join("b", replace(machine, devices={names.GPU_RESOURCE: 3}))
        found = await who.verify("a", "b")
        assert found["a"].result is Result.VERIFIED
        assert "4 nvidia.com/gpu.shared are offered, as 1 GPU" in sentence(found["a"], StepName.SLOTS)[1]
        assert failed(found["b"]) == [StepName.SLOTS]
        assert "3 nvidia.com/gpu are offered, fewer than 1 GPU" in reason_of(found["b"])


ANSWERS: dict[str, tuple[Exit | Waiting, list[StepName], str]] = {
    "image": (
        Waiting("ImagePullBackOff", "Back-off pulling image: not found"),
        [StepName.IMAGE],
        "cannot be pulled: ImagePullBackOff, Back-off pulling image: not found",
    ),
    "runtime": (
        Waiting("CreateContainerError", "nvidia-container-cli: initialization error"),
        [StepName.STARTED],
        "could not be started: CreateContainerError, nvidia-container-cli",
    ),
    "slow": (Waiting("ContainerCreating"), [StepName.IMAGE], "before the Job's deadline (ContainerCreating)"),
    "library": (
        gpus.refusal(ProbeReason.LIBRARY_NOT_FOUND, "no libnvidia-ml.so.1"),
        [StepName.LIBRARY],
        "no NVIDIA library is in the container",
    ),
    "devices": (gpus.refusal(ProbeReason.DRIVER_NOT_LOADED), [StepName.DRIVER], "the library is there and no device"),
    "driver": (
        gpus.refusal(ProbeReason.VERSION_MISMATCH),
        [StepName.DRIVER],
        "the driver in the kernel and its library are not of one version",
    ),
    "hangs": (gpus.refusal(ProbeReason.TIMEOUT), [StepName.DRIVER], "the driver does not answer"),
    "none": (gpus.refusal(ProbeReason.NO_GPU), [StepName.GPUS], "the pod asked for one GPU and sees none"),
    "lost": (gpus.report(T4, lost=[0]), [StepName.GPUS], "the GPU cannot be read: GPULost"),
    "leak": (gpus.report(T4, 2), [StepName.GPUS], "the pod asked for one GPU and sees 2 GPUs"),
    "model": (
        gpus.report(replace(T4, name="NVIDIA A10G")),
        [StepName.MODEL],
        "the pod sees NVIDIA A10G, the node's record says T4",
    ),
    "memory": (
        gpus.report(replace(T4, total_mib=8192)),
        [StepName.MEMORY],
        "the pod sees 8192 MiB, the probe of this boot says 15360",
    ),
    "overcommit": (
        gpus.report(replace(T4, reserved_mib=2000)),
        [StepName.MEMORY],
        "14910 MiB are advertised for the GPU, and it leaves programs 13360 of its 15360",
    ),
    "garbage": (Exit(1, "Traceback"), [StepName.LIBRARY], "exit code 1 and no report: Error: Traceback"),
}


@pytest.mark.parametrize(("answer", "steps", "says"), ANSWERS.values(), ids=ANSWERS.keys())
@virtual
async def test_each_way_to_fail_has_its_step_and_its_sentence(
    answer: Exit | Waiting, steps: list[StepName], says: str
) -> None:
    async with stage() as play, person(play) as who:
        await play.join()
        play.answers["a"] = answer
        found = await who.one()
        assert (found.result, failed(found)) == (Result.FAILED, steps)
        assert says in reason_of(found)
        after = [step for step in found.steps if step.name not in steps and step.state is not StepState.OK]
        assert all(step.state is StepState.SKIPPED for step in after), "one cause is told once"


@virtual
async def test_a_driver_that_no_probe_has_reached_is_not_taken_for_a_missing_device() -> None:
    async with stage(policy=CapacityPolicy(probe=False)) as play, person(play) as who:
        await play.join()
        play.answers["a"] = gpus.refusal(ProbeReason.DRIVER_NOT_LOADED)
        assert "the driver is not loaded on the node" in reason_of(await who.one())


@virtual
async def test_a_node_whose_gpus_are_taken_says_so_in_the_schedulers_words_and_on_the_way() -> None:
    async with stage() as play, person(play) as who:
        await play.join()
        limits = {names.GPU_RESOURCE: "1"}
        container = {"name": "main", "image": "app", "resources": {"limits": limits}}
        await play.admin.create(PODS, "default", {"metadata": {"name": "tenant"}, "spec": {"containers": [container]}})
        await anyio.sleep(5)
        found = await who.one()
        assert failed(found) == [StepName.SCHEDULED]
        assert "Insufficient nvidia.com/gpu" in reason_of(found)
        [heard] = who.heard
        assert heard.startswith("a: waits for a place: 0/1 nodes are available")


@virtual
async def test_a_pod_that_the_kubelet_refuses_is_told_with_the_kubelets_reason() -> None:
    """The kubelet restarts under the pod, and the device plugin is not back when it admits its pods anew."""
    async with stage() as play, person(play) as who, anyio.create_task_group() as group:
        await play.join()

        async def restart() -> None:
            await anyio.sleep(1)
            await play.sandbox.restart_kubelet("a", device_delay=20.0)

        group.start_soon(restart)
        found = await who.one()
        assert StepName.ADMITTED in failed(found)
        assert "UnexpectedAdmissionError" in sentence(found, StepName.ADMITTED)[1]
        assert "the device plugin gave no GPU" in sentence(found, StepName.ADMITTED)[1]


@virtual
async def test_a_node_that_cannot_take_a_pod_is_told_at_once_and_no_job_is_made() -> None:
    async with stage() as play, person(play) as who:
        await play.join("unready", replace(gpus.machine(), ready_delay=1e6))
        await play.join("bare", replace(gpus.machine(), devices={}))
        await play.join("lent", gpus.machine(labels={names.OPERATOR_WORKLOAD: "vm-passthrough"}))
        found = await who.verify()
        assert {name: one.result for name, one in found.items()} == {
            "unready": Result.FAILED, "bare": Result.FAILED, "lent": Result.SKIPPED,
        }  # fmt: skip
        assert failed(found["unready"]) == [StepName.NODE]
        assert failed(found["bare"]) == [StepName.OFFERED]
        assert "no device plugin has offered nvidia.com/gpu" in reason_of(found["bare"])
        assert who.made == 0


@virtual
async def test_a_kubelet_that_is_silent_is_waited_for_until_the_deadline() -> None:
    async with stage() as play, person(play) as who:
        await play.join()
        play.sandbox.stop_kubelet("a")
        found = await who.one()
        assert failed(found) == [StepName.ADMITTED]
        assert "the kubelet did not begin with the pod before the Job's deadline" in reason_of(found)


@virtual
async def test_what_the_api_server_refuses_is_a_failure_of_that_node_alone() -> None:
    async with stage() as play, person(play) as who:
        await play.join("a")
        await play.join("b")
        refusal = Answer(Response(403, b'{"message": "quota"}'))
        play.faults.add(refusal, user=PERSON, method="POST", path="/jobs", times=1)
        found = await who.verify()
        assert [one.result for one in found.values()] == [Result.FAILED, Result.VERIFIED]
        assert "the Job could not be made: POST" in reason_of(found["a"])


@virtual
async def test_several_gpus_are_verified_one_at_a_time_without_the_memory_that_is_not_offered() -> None:
    async with stage() as play, person(play) as who:
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4))
        play.answers["a"] = gpus.report(T4)
        found = await who.one()
        assert found.result is Result.VERIFIED
        assert sentence(found, StepName.ADVERTISED)[0] == "skipped"
        assert "1 GPU, of 4" in sentence(found, StepName.GPUS)[1]

    async with stage(policy=CapacityPolicy(multi_gpu=MultiGpu.SUM)) as play, person(play) as who:
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4))
        play.answers["a"] = gpus.report(T4)
        found = await who.one()
        assert found.result is Result.VERIFIED
        assert "the 14910 MiB that are advertised fit" in sentence(found, StepName.MEMORY)[1]


@virtual
async def test_all_nodes_with_gpus_are_verified_few_at_a_time_and_each_with_one_job() -> None:
    async with stage() as play, person(play, at_once=2) as who, anyio.create_task_group() as group:
        for name in "abcde":
            await play.join(name)
        await play.join("cpu", replace(gpus.machine("m5.large", gpus=0)))
        busy: list[int] = []

        async def count() -> None:
            while True:
                await anyio.sleep(0.1)
                verifying = [job for job in play.jobs() if job["metadata"]["name"].startswith("gpu-verify-")]
                busy.append(sum(not job["status"].get("conditions") for job in verifying))

        group.start_soon(count)
        found = await who.verify()
        group.cancel_scope.cancel()
        assert {name: one.result for name, one in found.items()} == dict.fromkeys("abcde", Result.VERIFIED)
        assert (max(busy), who.made) == (2, 5)


@virtual
async def test_two_people_at_once_share_one_job_and_a_later_look_is_a_new_one() -> None:
    async with stage() as play, person(play) as who, person(play, name="another") as other:
        await play.join()
        found: list[Verification] = []
        async with anyio.create_task_group() as group:
            for one in (who, other):
                group.start_soon(one.verifier.verify, one.verifier.chosen(["a"]), found)
        assert [one.result for one in found] == [Result.VERIFIED, Result.VERIFIED]
        assert found[0].job == found[1].job

        play.answers["a"] = gpus.report(A10G)
        later = await who.one()
        assert later.result is Result.FAILED
        assert later.job != found[0].job


@virtual
async def test_whoever_stops_it_takes_the_job_along_and_leaves_that_of_others() -> None:
    async with stage() as play, person(play) as who, person(play, name="another") as other:
        await play.join()
        play.answers["a"] = Waiting("ContainerCreating")

        async def under_way() -> list[str]:
            return [job["metadata"]["name"] for job in play.jobs() if "verify" in job["metadata"]["name"]]

        async with anyio.create_task_group() as first:
            first.start_soon(who.verify, "a")
            await anyio.sleep(5)
            async with anyio.create_task_group() as second:
                second.start_soon(other.verify, "a")
                await anyio.sleep(5)
                second.cancel_scope.cancel()
            assert len(await under_way()) == 1, "it was made by somebody else"
            first.cancel_scope.cancel()
        await anyio.sleep(5)
        assert await under_way() == []


@virtual
async def test_a_job_that_may_not_be_removed_is_named_and_goes_by_itself() -> None:
    async with stage() as play, person(play) as who:
        await play.join()
        play.answers["a"] = Waiting("ContainerCreating")
        play.faults.add(Answer(Response(403, b"{}")), user=PERSON, method="DELETE", path="/jobs")
        async with anyio.create_task_group() as group:
            group.start_soon(who.verify, "a")
            await anyio.sleep(5)
            group.cancel_scope.cancel()
        [heard] = who.heard
        assert "stays until its deadline and goes by itself afterwards" in heard
        await anyio.sleep(JOB.deadline + JOB.ttl + 60)
        assert play.sandbox.store.all(JOBS) == []


@virtual
async def test_a_node_that_is_gone_takes_its_job_along() -> None:
    async with stage() as play, person(play) as who, anyio.create_task_group() as group:
        await play.join()
        play.answers["a"] = Waiting("ContainerCreating")

        async def terminate() -> None:
            await anyio.sleep(5)
            await play.sandbox.delete_node("a")

        group.start_soon(terminate)
        found = await who.one()
        assert found.result is Result.FAILED
        assert play.sandbox.store.all(NODES) == []
