"""app/verifying.py and cli/verify.py: the command as people type it, with the real probe program in the pods."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest
import typer
from typer.testing import CliRunner

from reconciler.app import verifying
from reconciler.app.process import NotInTime
from reconciler.app.verifying import Verified
from reconciler.cli import app
from reconciler.cli.verify import end_as
from reconciler.model import names
from reconciler.model.node import NodeName
from reconciler.model.verification import Step, StepName, StepState, Verification
from reconciler.runtime.transport import Response
from reconciler.sandbox import nvml_double
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.http import HttpServer
from reconciler.sandbox.kinds import JOBS, NODES
from reconciler.sandbox.kubelet_process import Processes
from reconciler.sandbox.machine import Machine
from reconciler.settings.load import load
from tests.probe import double

pytestmark = pytest.mark.anyio

PROMISE = {names.GFD_COUNT: "1", names.GFD_PRODUCT: "Tesla-T4", names.GFD_MEMORY: "15360"}
TAKES = 30.0


@dataclass
class Cluster:
    sandbox: Sandbox
    kubeconfig: Path

    async def node(self, name: str, env: dict[str, str], devices: int = 1) -> None:
        """A node that promises one T4, and gives its pods this."""
        gpus = {names.GPU_RESOURCE: devices} if devices else {}
        labels = PROMISE if devices else {}
        machine = Machine(ready_delay=0.0, device_delay=0.0, env=env, devices=gpus, labels=labels)
        await self.sandbox.add_node(name, machine)
        with anyio.fail_after(TAKES):
            while not await self._offers(name, devices):  # noqa: ASYNC110 - the cluster is asked as a user would ask it
                await anyio.sleep(0.05)

    async def _offers(self, name: str, devices: int) -> bool:
        node = await self.sandbox.admin.get(NODES, "", name)
        status = node["status"] if node is not None else {}
        ready = any((one["type"], one["status"]) == ("Ready", "True") for one in status.get("conditions", []))
        return ready and int(status.get("allocatable", {}).get(names.GPU_RESOURCE, "0")) == devices

    async def type(self, *words: str) -> CompletedProcess[bytes]:
        """Run the command to its end."""
        environment = {
            **os.environ, "GPU_RECONCILER_KUBERNETES__KUBECONFIG": str(self.kubeconfig),
        }  # fmt: skip
        command = [sys.executable, "-m", "reconciler", *words]
        with anyio.fail_after(60):
            return await anyio.run_process(command, cwd=double.ROOT, env=environment, check=False)

    async def verify(self, *nodes: str, within: float = TAKES) -> Verified:
        """The same, in this process."""
        settings = load({"GPU_RECONCILER_KUBERNETES__KUBECONFIG": str(self.kubeconfig)})
        return await verifying.verify(settings, nodes, within=within, report=lambda trouble: None, say=print)


@asynccontextmanager
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with (
        Sandbox(runtime=Processes()) as sandbox,
        HttpServer(sandbox.api, {"token": "person"}, record=sandbox.record, faults=sandbox.faults) as server,
    ):
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig("person"))
        yield Cluster(sandbox, kubeconfig)


def driver(tmp_path: Path, kind: str = "g4dn.xlarge") -> dict[str, str]:
    """What a container gets where the runtime injects the driver: the library, and what it sees."""
    return {"LD_LIBRARY_PATH": str(double.built(tmp_path).parent), **nvml_double.MACHINES[kind]}


async def test_a_good_node_ends_the_command_with_0_and_tells_every_step(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        await there.node("good", driver(tmp_path))
        done = await there.type("verify", "good")
        lines = done.stdout.decode().splitlines()
        assert done.returncode == 0, done.stderr
        assert lines[0].startswith("good: verified (Job gpu-verify-")
        assert "  ok     model      Tesla T4, as the label nvidia.com/gpu.product says (Tesla-T4)" in lines
        assert [call.method for call in there.sandbox.record.writes("person")] == ["POST"]


async def test_one_bad_node_of_all_ends_it_with_1_and_machines_read_which_step(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        await there.node("bad", driver(tmp_path, "g5.xlarge"))
        await there.node("cpu", {}, devices=0)
        await there.node("good", driver(tmp_path))
        await there.node("uninjected", {})
        done = await there.type("verify", "--all", "-o", "json")
        found = {
            one["node"]: (one["result"], [step["name"] for step in one["steps"] if step["state"] == "failed"])
            for one in json.loads(done.stdout)
        }
        assert found == {
            "bad": ("failed", ["model", "memory"]),
            "good": ("verified", []),
            "uninjected": ("failed", ["library"]),
        }
        assert done.returncode == 1
        assert done.stderr.decode().splitlines()[-1] == "not verified: bad, uninjected"


async def test_a_name_that_no_node_has_is_told_beside_those_that_are_looked_at(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        await there.node("good", driver(tmp_path))
        found = await there.verify("good", "missing")
        assert ([str(one.node) for one in found.nodes], found.unknown) == (["good"], ["missing"])
        assert (await there.verify("missing")).nodes == []


async def test_a_node_without_a_gpu_is_none_of_all_and_not_verified_when_it_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        await there.node("cpu", {}, devices=0)
        assert (await there.verify()).nodes == []
        [named] = (await there.verify("cpu")).nodes
        assert [step.sentence for step in named.failed] == ["nothing on the node speaks of an NVIDIA GPU"]
        assert there.sandbox.store.all(JOBS) == []


async def test_what_cannot_be_read_in_time_is_named(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        there.sandbox.faults.add(Answer(Response(500)), method="GET", path="/jobs")
        with pytest.RaisesGroup(pytest.RaisesExc(NotInTime, match="within 2 s .*: Job"), flatten_subgroups=True):
            await there.verify(within=2)


STEP = Step(StepName.GPUS, StepState.OK, "the pod sees 1 GPU")
GOOD = Verification(NodeName("good"), (STEP,))
BAD = Verification(NodeName("bad"), (replace(STEP, state=StepState.FAILED),))
LENT = Verification(NodeName("lent"), (replace(STEP, state=StepState.SKIPPED),))


@pytest.mark.parametrize(
    ("found", "every", "code", "says"),
    [
        (Verified([GOOD]), False, 0, ""),
        (Verified([GOOD, LENT]), True, 0, ""),
        (Verified([]), True, 0, "no node seems to have an NVIDIA GPU"),
        (Verified([BAD, GOOD]), True, 1, "not verified: bad"),
        (Verified([LENT]), False, 1, "not verified: lent"),
        (Verified([GOOD], ["x", "y"]), False, 1, "there is no node x, y"),
        (Verified([GOOD], stopped=True), True, 1, "stopped before all was looked at"),
    ],
)
def test_the_exit_code_is_0_only_where_all_that_was_meant_is_verified(
    found: Verified, every: bool, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node whose GPUs others use is no failure among all nodes, but one when it was named."""
    ended = 0
    try:
        end_as(found, every=every)
    except typer.Exit as end:
        ended = end.exit_code
    assert (ended, says in capsys.readouterr().err) == (code, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["verify"], "name nodes, or say --all"),
        (["verify", "a", "--all"], "name nodes, or say --all"),
        (["verify", "a", "--config", "/nowhere/file"], "/nowhere/file"),
        (["verify", "a", "-o", "yaml"], "yaml"),
    ],
)
def test_a_wrong_command_is_2_and_says_what_to_do(words: list[str], says: str) -> None:
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_without_a_cluster_the_way_to_name_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    result = CliRunner().invoke(app, ["verify", "--all"])
    assert result.exit_code == 2
    assert "GPU_RECONCILER_KUBERNETES__KUBECONFIG" in result.stderr
