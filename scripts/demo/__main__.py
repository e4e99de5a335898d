"""How is the demo run? `python -m scripts.demo [--real] [--keep] [--svg FILE]`, or `make demo`.

Exit code 0: everything that was claimed was so; 1: something was not; 2: it could not be played here.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
from rich.console import RenderableType

from reconciler.runtime import logs
from reconciler.sandbox.programs import Runtime
from scripts.demo import probes
from scripts.demo.board import NotSo
from scripts.demo.company import Company, company
from scripts.demo.mock_aws import mock_aws, use_nobodys_credentials
from scripts.demo.narrator import Narrator
from scripts.demo.sandbox_stage import sandbox_stage
from scripts.demo.screen import Screen, save_svg
from scripts.demo.stage import NoStage, Stage
from scripts.demo.story import Story
from scripts.demo.summary import summary
from scripts.demo.telling import Telling
from scripts.demo.view import view


@dataclass(frozen=True, slots=True)
class Wanted:
    real: bool
    keep: bool
    svg: Path | None


def main() -> int:
    wanted = _wanted()
    use_nobodys_credentials(os.environ)
    with (
        tempfile.TemporaryDirectory(prefix="gpu-reconciler-demo-") as folder,
        open(Path(folder) / "controller.log", "w", encoding="utf-8") as log,
    ):
        logs.configure("console", "debug", log)
        try:
            return anyio.run(_play, wanted, Path(folder))
        except NoStage as why:
            print(f"the demo cannot be played: {why}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130


def _wanted() -> Wanted:
    parser = argparse.ArgumentParser(prog="make demo", description="The main job of gpu-reconciler, to watch.")
    parser.add_argument("--real", action="store_true", help="on a real control plane, built from Go modules")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up until Ctrl-C, for kubectl")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture of the final view")
    given = parser.parse_args()
    return Wanted(given.real, given.keep, given.svg)


async def _play(wanted: Wanted, folder: Path) -> int:
    began = time.monotonic()
    screen = Screen()
    telling = Telling(screen.line)
    telling.say("setting the stage: a mocked EC2, the NVML double, a cluster")
    library, why_none = await anyio.to_thread.run_sync(probes.built, folder)
    if library is None:
        telling.say(f"{why_none}: the probes' recorded reports are replayed instead")
    async with (
        mock_aws(folder) as aws,
        _stage(wanted, probes.runtime(library), folder) as stage,
        company(stage, aws) as everybody,
    ):
        return await _perform(wanted, everybody, library, screen, telling, began)


def _stage(wanted: Wanted, runtime: Runtime, folder: Path) -> AbstractAsyncContextManager[Stage]:
    if not wanted.real:
        return sandbox_stage(runtime, folder)
    from scripts.demo.real_stage import real_stage

    return real_stage(runtime, folder)


async def _perform(
    wanted: Wanted, everybody: Company, library: Path | None, screen: Screen, telling: Telling, began: float
) -> int:
    everybody.board.nodes.on_change(Narrator(telling, everybody.board.resource).changed)
    story = Story(everybody, telling, library, screen.pause)
    telling.say(f"the stage is set: {everybody.stage.title}, {everybody.board.resource} is the resource")

    def picture(width: int, height: int) -> RenderableType:
        return view(everybody, telling, width, height)

    async with screen.showing(picture):
        try:
            await story.play()
        except NotSo as broken:
            telling.claim(False, str(broken))
    screen.print(summary(everybody, story.results, telling))
    if wanted.svg is not None:
        save_svg(picture, wanted.svg, "make demo")
    print(f"took {time.monotonic() - began:.0f} s")
    if wanted.keep:
        await _keep(everybody)
    return 1 if telling.broken else 0


async def _keep(everybody: Company) -> None:
    async with everybody.stage.open_to_kubectl() as kubeconfig:
        print(f"the cluster stays up until Ctrl-C: kubectl --kubeconfig {kubeconfig} get nodes", flush=True)
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                return


if __name__ == "__main__":
    sys.exit(main())
