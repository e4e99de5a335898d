"""Which reports are replayed without the NVML double? `python -m scripts.demo.record` writes them anew."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import anyio

from reconciler.sandbox.kubelet_process import Processes
from reconciler.sandbox.programs import Work
from scripts.demo.fleet import EVERYONE
from scripts.demo.probes import RECORDED, built

_CONTAINER = {"command": ["python", "-m", "reconciler.probe"]}


async def recorded(library: Path) -> Mapping[str, Mapping[str, object]]:
    """The exit code and message of the real probe on each machine of the story that has NVML."""
    found = {}
    for number, member in enumerate(EVERYONE):
        if member.nvml:
            machine = member.machine(number, library)
            ended = await Processes().run(Work(member.name, {}, _CONTAINER, machine.env))
            found[member.name] = {"code": ended.code, "message": ended.message}
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        library, why = built(Path(folder))
        if library is None:
            raise SystemExit(why)
        RECORDED.write_text(json.dumps(anyio.run(recorded, library), indent=1) + "\n")
