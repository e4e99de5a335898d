"""What runs as `nvidia-device-plugin` on a hollow node? The sandbox's program, as a process with real signals."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio

from reconciler.sandbox.device_plugin import device_plugin
from reconciler.sandbox.mirror import Bell
from reconciler.sandbox.programs import Exit
from tests.controlplane.plugin_place import PID, here, leave


async def run() -> Exit:
    place, bell, config = here(), Bell(), os.environ.get("CONFIG_FILE", "")
    done = Exit(0)
    async with anyio.create_task_group() as group:
        with anyio.open_signal_receiver(signal.SIGHUP, signal.SIGTERM) as signals:
            if config:
                (Path(config).parent / PID).write_text(str(os.getpid()))

            async def hear() -> None:
                async for number in signals:
                    if number == signal.SIGTERM:
                        group.cancel_scope.cancel()
                    bell.ring()

            group.start_soon(hear)
            gpus, loses = int(os.environ["GPUS"]), bool(config) and place.loses(config)
            done = await device_plugin(gpus, lambda: _text(config), place, bell, place.script, loses=loses)
            group.cancel_scope.cancel()
    return done


def _text(path: str) -> str | None:
    """The config; empty without one, None where the link leads nowhere."""
    if not path:
        return ""
    try:
        return Path(path).read_text()
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    leave(anyio.run(run))
