"""What does a hollow node keep for its device plugins? A folder: what they serve, and how they are to behave."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from reconciler.sandbox.plugin_script import PluginScript
from reconciler.sandbox.programs import Exit

PID = "plugin.pid"
"""Beside the config, where both containers of a pod see it: the process that gets the SIGHUP."""

_SERVED = "plugins.json"
"""Resource -> ids of devices: the hollow kubelet has a plugin for each."""
_SCRIPT = "script.json"
_PODS = "pods.txt"
"""A line for each plugin pod that the node has seen, the first on top."""


class Place:
    """The folder, as the test, the kubelet and the programs in the pods share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tell(self, script: PluginScript) -> None:
        """From now on the node's plugin behaves so."""
        self._write(_SCRIPT, msgspec.json.encode(script))

    def script(self) -> PluginScript:
        return msgspec.json.decode((self.folder / _SCRIPT).read_bytes(), type=PluginScript)

    def serve(self, devices: Mapping[str, Sequence[str]], *, one_each: bool = False) -> None:
        """As `device_plugin.Registrar`; the kubelet's own plugins hand out whatever is asked for."""
        self._write(_SERVED, msgspec.json.encode({name: [*ids] for name, ids in devices.items()}))

    def stop(self) -> None:
        self._write(_SERVED, b"{}")

    def loses(self, config: str) -> bool:
        """Whether the pod with this config is one of those that lose their race."""
        pods = self.folder / _PODS
        pod = str(Path(config).parent)  # the volume of this pod alone
        known = pods.read_text().split() if pods.exists() else []
        if pod not in known:
            known.append(pod)
            self._write(_PODS, "\n".join(known).encode())
        return known.index(pod) < self.script().lost_races

    def _write(self, name: str, data: bytes) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_bytes(data)
        fresh.replace(self.folder / name)


def here() -> Place:
    """The node's, from within a pod."""
    return Place(Path(os.environ["PLUGIN_FOLDER"]))


def leave(done: Exit) -> None:
    """End the process."""
    sys.stdout.write(f"{done.message}\n")
    sys.exit(done.code)
