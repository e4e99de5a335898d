"""What does the plugin's own program do? It registers what its config says, and again after every SIGHUP.

NVIDIA's cmd/nvidia-device-plugin. A config it cannot read ends it with status 1; without GPUs it waits for ever.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import anyio

from reconciler.sandbox.mirror import Bell
from reconciler.sandbox.plugin_config import LOADING, BadConfig, parse
from reconciler.sandbox.plugin_script import PluginScript
from reconciler.sandbox.programs import Exit

CONFIG_FILE = "/config/config.yaml"


class Registrar(Protocol):
    """The kubelet, as a plugin reaches it. Both calls replace what was there."""

    def serve(self, devices: Mapping[str, Sequence[str]], *, one_each: bool = False) -> None:
        """Resource -> ids of devices. `one_each`: the plugin hands out no two at once."""
        ...

    def stop(self) -> None: ...


async def device_plugin(
    gpus: int,
    read: Callable[[], str | None],
    registrar: Registrar,
    bell: Bell,
    script: Callable[[], PluginScript],
    *,
    loses: bool = False,
) -> Exit:
    """Run until cancelled, or until there is an exit status. `bell` is SIGHUP, or a kubelet that started anew.

    `read` gives the config file, None where there is none. `loses`: a SIGHUP leaves it running and serving nothing.
    """
    first = True
    try:
        while True:
            registrar.stop()
            if (text := read()) is None:
                return Exit(1, f"{LOADING}error opening config file: open {CONFIG_FILE}: no such file or directory")
            try:
                serving = parse(text)
            except BadConfig as wrong:
                return Exit(1, str(wrong))
            await anyio.sleep(script().start_seconds if first else script().switch_seconds)
            if error := script().plugin_error:
                return Exit(1, error)
            given = script().serves
            if not loses or first:
                devices = {serving.resource: serving.devices(gpus)} if gpus else {}
                if given is not None:
                    devices = {name: _named(count) for name, count in given.items()}
                registrar.serve(devices, one_each=serving.one_each)
            first = False
            await bell.wait()
    finally:
        registrar.stop()


def _named(count: int) -> list[str]:
    return [f"GPU-{number}" for number in range(count)]
