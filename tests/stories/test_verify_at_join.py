"""The controller verifies a node once a boot: after its conditions are True, through restarts, and then it is quiet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
from anyio.abc import TaskGroup

from reconciler.app.controller import Wishes
from reconciler.kube.watch import Pace
from reconciler.model import names, verification_record
from reconciler.model.probe_report import ProbeReason
from reconciler.model.reasons import Reason
from reconciler.model.verification import VerifyPolicy
from reconciler.model.verification_record import Result, VerificationRecord
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.kinds import EVENTS, NODES, PODS
from reconciler.sandbox.mishaps import FORBIDDEN
from reconciler.sandbox.nvml_double import A10G, T4
from tests.stories import gpus
from tests.stories.person import person
from tests.stories.replica import Replica
from tests.stories.stage import NAMESPACE, OURS, PROBE, Stage, stage
from tests.stories.telling import virtual

JOB = replace(PROBE, backoff_limit=0, deadline=120)


@dataclass
class Loop:
    """A life of the controller that verifies nodes at join, and what it left in the cluster."""

    play: Stage
    replica: Replica

    def record(self, name: str = "a") -> VerificationRecord | None:
        text = self.play.node(name)["metadata"]["annotations"].get(names.VERIFIED)
        if text is None:
            return None
        found = verification_record.parse(text)
        assert isinstance(found, VerificationRecord)
        return found

    def result(self, name: str = "a") -> Result | None:
        found = self.record(name)
        return found.result if found is not None else None

    @property
    def made(self) -> int:
        """Verify Jobs that were made."""
        return sum(b"gpu-verify-" in call.body and call.status == 201 for call in self.play.writes())

    @property
    def written(self) -> int:
        """Annotations that were written."""
        return sum(names.VERIFIED.encode() in call.body and call.status == 200 for call in self.play.writes())

    def events(self) -> list[str]:
        return [reason for reason in self.play.events() if reason.startswith("Pod")]

    def kill(self) -> None:
        self.replica.kill()


async def begin(play: Stage, group: TaskGroup) -> Loop:
    """Start a process of the controller that verifies nodes at join."""
    wishes = Wishes(
        namespace=NAMESPACE,
        policy=play.node_policy,
        probe=PROBE,
        pace=Pace(),
        verify=VerifyPolicy(),
        verify_job=JOB,
    )
    replica = Replica(OURS, play.sandbox.transport(OURS), play.types, play.sandbox.clock, wishes, leased=False)
    play.replicas[OURS] = replica
    play.everyone.append(replica)
    await group.start(replica.run)
    return Loop(play, replica)


@asynccontextmanager
async def verifying() -> AsyncIterator[tuple[Stage, Loop]]:
    """A cluster whose controller verifies nodes at join; in the end a still cluster plans nothing."""
    async with stage(start=False) as play, anyio.create_task_group() as group:
        loop = await begin(play, group)
        yield play, loop
        controller = loop.replica.controller
        assert controller.verifications is not None
        assert [
            node.name for node in controller.nodes.all() if not controller.verifications.loop.plan(node).quiet
        ] == []
        loop.kill()


@virtual
async def test_a_node_is_verified_once_and_then_nothing_is_written_for_hours() -> None:
    async with verifying() as (play, loop):
        await play.join()
        await anyio.sleep(60)
        assert (loop.result(), loop.made, loop.events()) == (Result.VERIFIED, 1, [])
        assert loop.written == 1
        await play.quiet(3)
        assert play.jobs() == [], "they are gone by their own TTL"


@virtual
async def test_the_pod_runs_behind_the_startup_taint_too() -> None:
    """A device plugin that comes late holds the taint: verified is what offers something."""
    async with verifying() as (play, loop):
        machine = gpus.machine(taints=(f"{names.STARTUP_TAINT}=:NoSchedule",))
        await play.join("a", replace(machine, device_delay=100.0))
        assert loop.made == 0
        await anyio.sleep(100)
        assert (loop.result(), loop.made) == (Result.VERIFIED, 1)


@virtual
async def test_it_waits_for_the_nodes_own_probe() -> None:
    """A driver that is still loading would fail the pod, and with it the only try of this boot."""
    async with verifying() as (play, loop):
        play.answers["a"] = gpus.refusal(ProbeReason.DRIVER_NOT_LOADED)
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(40)
        assert (play.reason(), loop.made) == ("True/Provisional", 0)
        play.answers["a"] = gpus.report(T4)
        await anyio.sleep(60)
        assert (play.reason(), loop.result(), loop.made) == ("True/Verified", Result.VERIFIED, 1)


@virtual
async def test_a_failure_is_told_once_and_a_person_who_mended_it_is_heard() -> None:
    """A verification by hand within the same boot has the last word."""
    async with verifying() as (play, loop):
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(12)
        play.answers["a"] = gpus.report(A10G)
        await anyio.sleep(60)
        found = loop.record()
        assert found is not None
        assert (found.result, found.failed) == (Result.FAILED, ("model", "memory"))
        assert loop.events() == ["PodNotVerified"]
        await play.quiet(1)

        play.answers["a"] = gpus.report(T4)
        async with person(play) as who:
            await who.one()
        await anyio.sleep(10)
        assert (loop.result(), loop.events()) == (Result.VERIFIED, ["PodNotVerified", "PodVerified"])


@virtual
async def test_a_full_node_is_no_warning() -> None:
    async with verifying() as (play, loop):
        container = {"name": "main", "image": "app", "resources": {"limits": {names.GPU_RESOURCE: "1"}}}
        await play.admin.create(PODS, "default", {"metadata": {"name": "tenant"}, "spec": {"containers": [container]}})
        await play.join()
        await anyio.sleep(JOB.deadline + 60)
        assert loop.result() is Result.FAILED
        [event] = [event for event in play.sandbox.store.all(EVENTS) if event["reason"] == "PodNotVerified"]
        assert event["type"] == "Normal"
        assert "Insufficient nvidia.com/gpu" in event["message"]


@virtual
async def test_a_restart_at_any_time_makes_no_second_job_and_loses_no_result() -> None:
    for moment in (1, 9, 18, 19, 20, 21, 22, 23, 24, 40):
        async with stage(start=False) as play, anyio.create_task_group() as group:
            first = await begin(play, group)
            await play.sandbox.add_node("a", gpus.machine())
            await anyio.sleep(moment)
            first.kill()
            second = await begin(play, group)
            await anyio.sleep(120)
            found = (second.result(), second.made, second.written)
            assert found == (Result.VERIFIED, 1, 1), f"restarted after {moment} s"
            second.kill()


@virtual
async def test_a_new_boot_is_verified_anew() -> None:
    async with verifying() as (play, loop):
        await play.join()
        await anyio.sleep(60)
        await play.sandbox.restart_kubelet("a", boot_id="second")
        await anyio.sleep(120)
        found = loop.record()
        assert found is not None
        assert (found.boot_id, found.result, loop.made) == ("second", Result.VERIFIED, 2)


@virtual
async def test_an_event_that_could_not_be_told_is_told_before_the_node_remembers_it() -> None:
    async with verifying() as (play, loop):
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(12)
        play.answers["a"] = gpus.report(A10G)
        rule = play.faults.add(Answer(Response(503)), user=OURS, method="POST", path="/events")
        await anyio.sleep(60)
        assert (loop.result(), loop.events()) == (None, [])
        play.faults.remove(rule)
        await anyio.sleep(120)
        assert (loop.result(), loop.events()) == (Result.FAILED, ["PodNotVerified"])


@virtual
async def test_where_events_may_not_be_written_the_node_remembers_all_the_same() -> None:
    """Else each Job that its own lifetime ends is followed by another one, and each takes a GPU."""
    async with verifying() as (play, loop):
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(12)
        play.answers["a"] = gpus.report(A10G)
        play.faults.add(FORBIDDEN, user=OURS, method="POST", path="/events")
        await anyio.sleep(3600)
        assert (loop.result(), loop.made, loop.events()) == (Result.FAILED, 1, [])


@virtual
async def test_an_annotation_that_somebody_edited_is_written_anew() -> None:
    async with verifying() as (play, loop):
        await play.join()
        await anyio.sleep(60)
        await play.admin.merge(NODES, "", "a", {"metadata": {"annotations": {names.VERIFIED: "yes"}}})
        await anyio.sleep(60)
        assert loop.result() is Result.VERIFIED


@virtual
async def test_nodes_that_advertise_nothing_on_purpose_are_verified_as_well() -> None:
    async with verifying() as (play, loop):
        play.answers["a"] = gpus.report(T4)
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4))
        await anyio.sleep(60)
        assert play.reason() == f"False/{Reason.MULTI_GPU.value}"
        assert (loop.result(), loop.made) == (Result.VERIFIED, 1)
