"""Is the demo over within a minute? Asked in ways that do not depend on what else the machine does.

The minute is what its own schedule takes, every wait and pause on a clock that stands still while anybody computes, and
what its processes compute (tests/demo/test_demo.py). On a machine with nothing else to do it takes no longer than both
together.
"""

from pathlib import Path

import anyio

from reconciler.sandbox.clock import run_virtual
from scripts.demo import probes
from scripts.demo.company import company
from scripts.demo.sandbox_stage import sandbox_stage
from scripts.demo.story import Story
from scripts.demo.telling import Telling
from tests.demo.running import SCHEDULED
from tests.stories.ec2 import Ec2


def test_all_waits_and_pauses_take_less_than_half_of_it(tmp_path: Path) -> None:
    """With the pauses for people who read while it happens, which a demo without a terminal leaves out."""

    async def main() -> tuple[float, int, list[str]]:
        async with (
            sandbox_stage(probes.runtime(None), tmp_path) as stage,
            company(stage, {}, types=Ec2()) as everybody,
        ):
            telling = Telling()
            await Story(everybody, telling, None, anyio.sleep).play()
            return telling.seconds, telling.kept, telling.broken

    seconds, kept, broken = run_virtual(main)
    assert (kept, broken) == (30, [])
    assert seconds < SCHEDULED
