"""Can the demo say something that is not so? Its recorded reports, its claims, and a controller that cannot write."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from reconciler.runtime.transport import Request, Response
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.faults import Answer, Late
from scripts.demo import probes
from scripts.demo.arrivals import Arrivals
from scripts.demo.board import NotSo
from scripts.demo.calls import Call, Counted, in_words, patched, until_patched
from scripts.demo.company import Company, company
from scripts.demo.overlay_story import OverlayStory
from scripts.demo.record import recorded
from scripts.demo.sandbox_stage import sandbox_stage
from scripts.demo.sharing_story import SharingStory
from scripts.demo.stage import CONTROLLER
from scripts.demo.story import Story
from scripts.demo.telling import Telling
from tests.probe.double import built


def test_the_recorded_reports_are_what_the_real_probe_says_today(tmp_path: Path) -> None:
    """Else `python -m scripts.demo.record` has to be run again."""
    assert anyio.run(recorded, built(tmp_path)) == json.loads(probes.RECORDED.read_text())


def test_a_claim_that_is_not_so_is_kept_with_what_was_instead() -> None:
    """Only true claims get a tick."""

    async def main() -> Telling:
        telling = Telling()
        telling.claim(True, "pods run")
        telling.claim(False, "6 pods run", 5)
        return telling

    telling = anyio.run(main)
    assert (telling.kept, telling.broken) == (1, ["6 pods run (instead: 5)"])
    assert [line.text for line in telling.lines] == ["✓ pods run", "✗ NOT SO: 6 pods run (instead: 5)"]


def test_the_story_does_not_go_on_when_the_controller_cannot_write(tmp_path: Path) -> None:
    """The board watches the cluster itself, so no belief of the controller's can stand in for a written node."""

    async def main() -> None:
        async with (
            sandbox_stage(probes.runtime(None), tmp_path) as stage,
            company(stage, {"GPU_RECONCILER_AWS__ENABLED": "false"}) as everybody,
        ):
            stage.sandbox.faults.add(Answer(Response(500, b"no")), method="PATCH", user=CONTROLLER)
            with pytest.raises(NotSo, match="gpu-t4 advertises memory"):
                await Story(everybody, Telling(), None, anyio.sleep).play()

    run_virtual(main)


@pytest.mark.parametrize(
    ("method", "path", "why"),
    [
        ("POST", "/nodeoverlays", "NodeOverlays are written"),
        ("PATCH", "/api/v1/nodes/dev-1", "dev-1 is open"),
    ],
)
def test_the_later_chapters_do_not_go_on_without_what_they_tell_of(
    tmp_path: Path, method: str, path: str, why: str
) -> None:
    """Overlays that are not written, and a node that is not labelled."""

    async def main() -> None:
        async with sharing_cluster(tmp_path) as (sandbox, everybody):
            sandbox.faults.add(Answer(Response(403, b"no")), user=CONTROLLER, method=method, path=path)
            with pytest.raises(NotSo, match=why):
                await play_sharing(everybody, Telling())

    run_virtual(main)


def test_overlays_that_tell_other_figures_are_told_to_be_so(tmp_path: Path) -> None:
    """Before any probe has answered Karpenter is told less than these nodes will have in the end."""

    async def main() -> Telling:
        async with sharing_cluster(tmp_path) as (_, everybody):
            telling = Telling()
            await play_sharing(everybody, telling)
            return telling

    telling = run_virtual(main)
    assert [each.partition(",")[0] for each in telling.broken] == [
        "a NodeOverlay says veriff.com/gpu-memory 14562Mi on g4dn.xlarge",
        "a NodeOverlay says veriff.com/gpu-memory 21713Mi on g5.xlarge",
    ]


@asynccontextmanager
async def sharing_cluster(folder: Path) -> AsyncIterator[tuple[Sandbox, Company]]:
    """Without AWS, and without the nodes of the chapters before."""
    async with (
        sandbox_stage(probes.runtime(None), folder) as stage,
        company(stage, {"GPU_RECONCILER_AWS__ENABLED": "false"}) as everybody,
    ):
        yield stage.sandbox, everybody


async def play_sharing(everybody: Company, telling: Telling) -> None:
    """The chapters on overlays and on sharing."""
    arrivals = Arrivals(everybody, telling, None)
    await OverlayStory(everybody, telling, arrivals, anyio.sleep).play()
    await SharingStory(everybody, telling, arrivals, anyio.sleep).play()


def test_calls_are_told_by_what_they_did_and_counted_up_to_the_figure() -> None:
    """Names and namespaces do not matter, kinds and subresources do."""
    job = "/apis/batch/v1/namespaces/gpu-reconciler/jobs"
    calls = [
        Call(0.0, "POST", job, 201),
        Call(0.1, "PATCH", "/api/v1/nodes/b/status", 200),
        Call(0.2, "PATCH", "/api/v1/nodes/a/status", 200),
        Call(0.3, "PATCH", "/api/v1/nodes/a", 200),
    ]
    assert in_words(calls) == "1 POST jobs, 2 PATCH nodes/status, 1 PATCH nodes"
    assert until_patched(calls, "a") == calls[:3]
    assert in_words([]) == "none"
    assert [patched(calls, "a"), patched(calls[:2], "a")] == [True, False]


def test_a_call_is_waited_for_whose_effect_is_seen_before_its_answer(tmp_path: Path) -> None:
    """Else a claim on what it took would be about nothing; a call that never comes is waited for a while only."""

    async def main() -> list[str]:
        async with sandbox_stage(probes.runtime(None), tmp_path) as stage:
            stage.sandbox.faults.add(Late(1.0), user=CONTROLLER)
            calls = Counted(stage.transport(CONTROLLER))
            async with anyio.create_task_group() as group:
                group.start_soon(calls.send, Request("GET", "/api/v1/nodes/a"))
                found = await calls.since(0, len)
            assert await calls.since(1, len) == []
            return [str(call) for call in found]

    assert run_virtual(main) == ["GET nodes"]
