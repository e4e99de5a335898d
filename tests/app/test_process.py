"""app/process.py: a whole process over a real socket, against the embedded cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import anyio
import pytest

from reconciler.app import process
from reconciler.kube.apply import Rehearsal
from reconciler.kube.fence import NotLeader
from reconciler.model.plan import Advertise
from reconciler.model.reasons import Reason
from reconciler.runtime.transport import Response
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.http import HttpServer
from reconciler.sandbox.kinds import LEASES, NODES
from reconciler.sandbox.machine import Machine
from reconciler.settings.load import load
from reconciler.settings.root import Settings

pytestmark = pytest.mark.anyio

MEMORY = "gpu-reconciler.io/gpu-memory"
TAKES = 30.0


async def is_ready(sandbox: Sandbox) -> bool:
    """A node that is not is not probed yet, so two passes around that moment differ."""
    node = await sandbox.admin.get(NODES, "", "gpu-1")
    conditions = node["status"].get("conditions", []) if node else []
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


@asynccontextmanager
async def cluster(tmp_path: Path) -> AsyncIterator[tuple[Sandbox, Settings]]:
    """One g4dn.xlarge behind a real port, and settings that lead there."""
    async with Sandbox() as sandbox:
        tokens = {"secret-token": "gpu-reconciler"}
        async with HttpServer(sandbox.api, tokens, record=sandbox.record, faults=sandbox.faults) as server:
            kubeconfig = tmp_path / "kubeconfig"
            kubeconfig.write_text(server.kubeconfig("gpu-reconciler"))
            await sandbox.add_node("gpu-1", Machine(ready_delay=0.0))
            with anyio.fail_after(TAKES):
                while not await is_ready(sandbox):  # noqa: ASYNC110 - the cluster is asked as a user would ask it
                    await anyio.sleep(0.05)
            env = {
                "GPU_RECONCILER_KUBERNETES__KUBECONFIG": str(kubeconfig),
                "GPU_RECONCILER_AWS__ENABLED": "false",
                "GPU_RECONCILER_SERVER__HOST": "127.0.0.1",
                "GPU_RECONCILER_SERVER__PORT": "0",
                "GPU_RECONCILER_LEADER__IDENTITY": "this-one",
            }
            yield sandbox, load(env)


async def advertised(sandbox: Sandbox) -> str | None:
    node = await sandbox.admin.get(NODES, "", "gpu-1")
    assert node is not None
    value: str | None = node["status"]["allocatable"].get(MEMORY)
    return value


async def eventually_advertised(sandbox: Sandbox) -> None:
    with anyio.fail_after(TAKES):
        while await advertised(sandbox) is None:  # noqa: ASYNC110 - the cluster is asked as a user would ask it
            await anyio.sleep(0.05)


async def test_a_dry_pass_plans_what_a_pass_does_and_the_next_one_has_nothing_to_do(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        rehearsal = Rehearsal()
        assert await process.once(settings, within=TAKES, rehearsal=rehearsal) == []
        assert Advertise in map(type, rehearsal.actions)
        assert sandbox.record.writes("gpu-reconciler") == []

        assert await process.once(settings, within=TAKES) == []
        assert await advertised(sandbox) == "14592Mi"
        again = Rehearsal()
        await process.once(settings, within=TAKES, rehearsal=again)
        assert again.actions == []


async def test_dry_runs_and_explanations_write_nothing_when_ec2_answers_and_nobody_leads(
    tmp_path: Path, moto_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EC2's answers are worth keeping, and a run that promised to write nothing keeps them to itself."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-nobody")
    async with cluster(tmp_path) as (sandbox, settings):
        aws = settings.aws.model_copy(update={"enabled": True, "endpoint_url": moto_url, "region": "us-east-1"})
        leader = settings.leader.model_copy(update={"enabled": False})
        for alone in (settings, settings.model_copy(update={"leader": leader})):
            asking = alone.model_copy(update={"aws": aws})
            assert await process.once(asking, within=TAKES, rehearsal=Rehearsal()) == []
            [one] = await process.explain(asking, within=TAKES, pod=None)
            [advertise] = [action for action in one.actions if isinstance(action, Advertise)]
            assert '"ec2MiB":16384' in str(advertise.annotations)
        assert sandbox.record.writes("gpu-reconciler") == []


async def test_a_pass_gives_way_to_a_running_leader(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
        await sandbox.admin.create(LEASES, "gpu-reconciler", {"metadata": {"name": "gpu-reconciler"}, "spec": spec})

        with pytest.RaisesGroup(pytest.RaisesExc(NotLeader, match="another holds the lease"), flatten_subgroups=True):
            await process.once(settings, within=3)
        assert await advertised(sandbox) is None


async def test_a_pass_tells_which_nodes_could_not_be_done(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        sandbox.faults.add(Answer(Response(500)), method="PATCH", path="/api/v1/nodes/gpu-1/status")

        assert await process.once(settings, within=TAKES) == ["gpu-1"]


async def test_what_cannot_be_read_in_time_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        sandbox.faults.add(Answer(Response(500)), method="GET", path="/api/v1/pods")

        with pytest.RaisesGroup(pytest.RaisesExc(process.NotInTime, match="Pod"), flatten_subgroups=True):
            await process.once(settings, within=2)


async def test_an_explanation_of_the_cluster_writes_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        [one] = await process.explain(settings, within=TAKES, pod=None)

        assert (one.node, one.mib, one.reason) == ("gpu-1", 14592, Reason.PROVISIONAL)
        assert sandbox.record.writes("gpu-reconciler") == []


async def test_a_running_process_advertises_serves_its_health_and_metrics_and_gives_its_lease_back(
    tmp_path: Path, free_port: int
) -> None:
    async with cluster(tmp_path) as (sandbox, settings):
        server = settings.server.model_copy(update={"port": free_port})
        settings = settings.model_copy(update={"server": server})

        async def lease_holder() -> str | None:
            lease = await sandbox.admin.get(LEASES, "gpu-reconciler", "gpu-reconciler")
            holder: str | None = lease["spec"].get("holderIdentity") if lease else None
            return holder

        async with anyio.create_task_group() as group, aiohttp.ClientSession() as http:
            group.start_soon(process.run, settings)
            await eventually_advertised(sandbox)

            async def page(path: str) -> tuple[int, str]:
                async with http.get(f"http://127.0.0.1:{free_port}{path}") as answer:
                    return answer.status, await answer.text()

            assert await page("/healthz") == (200, "ok")
            assert await page("/readyz") == (200, "ok")
            status, text = await page("/metrics")
            assert status == 200
            assert "gpu_reconciler_leader 1.0" in text
            assert (
                'gpu_reconciler_node_verdict{instance_type="g4dn.xlarge",node="gpu-1",reason="Provisional"} 1.0' in text
            )
            assert await lease_holder() == "this-one"
            group.cancel_scope.cancel()
        assert await lease_holder() in ("", None)
