"""sandbox/kubelet_process: the real probe program, run by a sandbox kubelet against the NVML double."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from reconciler.model.probe_report import parse
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import JOBS
from reconciler.sandbox.kubelet_process import Processes
from reconciler.sandbox.machine import Machine
from tests.probe import double
from tests.sandbox.stories import job, pods

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(runtime=Processes()) as running:
        yield running


async def finished(sandbox: Sandbox, name: str) -> Json:
    """How the one container of a job's pod ended."""
    with anyio.fail_after(60):
        while True:
            for pod in pods(sandbox, **{"batch.kubernetes.io/job-name": name}):
                for status in pod["status"].get("containerStatuses", []):
                    if "terminated" in status["state"]:
                        ended: Json = status["state"]["terminated"]
                        return ended
            await anyio.sleep(0.05)


async def test_the_probe_really_runs_in_the_environment_of_its_node(sandbox: Sandbox, tmp_path: Path) -> None:
    """Two nodes, two libraries' worth of answers; the termination message is the report."""
    library = double.built(tmp_path)
    place = {"LD_LIBRARY_PATH": str(library.parent)}
    await sandbox.add_node("good", Machine(env=place, ready_delay=0.0, device_delay=0.0))
    await sandbox.add_node("bad", Machine(ready_delay=0.0, device_delay=0.0))
    for node in ("good", "bad"):
        body = job(node, "python3", "-m", "reconciler.probe", backoffLimit=0)
        body["spec"]["template"]["spec"]["nodeName"] = node
        await sandbox.admin.create(JOBS, "default", body)
    good, bad = await finished(sandbox, "good"), await finished(sandbox, "bad")
    assert good["exitCode"] == 0, good
    assert parse(good["message"]).exit_code == 0
    assert bad["exitCode"] == parse(bad["message"]).exit_code != 0


async def test_other_containers_idle_and_a_silent_failure_falls_back_to_the_log(sandbox: Sandbox) -> None:
    """terminationMessagePolicy FallbackToLogsOnError."""
    await sandbox.add_node("n", Machine(ready_delay=0.0, device_delay=0.0))
    body = job("j", "python3", "-c", "import sys; print('reconciler.probe is away'); sys.exit(7)", backoffLimit=0)
    body["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError"
    await sandbox.admin.create(JOBS, "default", body)
    ended = await finished(sandbox, "j")
    assert (ended["exitCode"], ended["message"]) == (7, "reconciler.probe is away\n")
