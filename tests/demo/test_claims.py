"""Can the demo say something that is not so? Its recorded reports, its claims, and a controller that cannot write."""

import json
from pathlib import Path

import anyio
import pytest

from reconciler.runtime.transport import Response
from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.faults import Answer
from scripts.demo import probes
from scripts.demo.board import NotSo
from scripts.demo.calls import Call, in_words, until_patched
from scripts.demo.company import company
from scripts.demo.record import recorded
from scripts.demo.sandbox_stage import sandbox_stage
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
