"""How soon can a pod ask for a new node's memory? From the node's first event to the resource in its allocatable.

Both run on the same real API server, with a real kubelet's code for the node and its usual 10 s between node statuses.
Ours is `gpu-reconciler run` as its manifests install it. The rival is the script of starting point A, word for word
from deploy/examples, begun the moment the node is there: no scheduling, no image and no start of a container counts.
"""

import os
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import yaml

from tests.bench.comparison import Better, Comparison, NotHere
from tests.bench.scale import TINY, Scale
from tests.controlplane import programs
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.process import Process, free_port
from tests.controlplane.product import MEMORY, Installation
from tests.deploy.objects import EXAMPLES, examples

PROMISED = 100.0
"""Times sooner."""

RECIPE = EXAMPLES / "starting-point-a" / "daemonset-recipe.yaml"
LONGEST = 60.0
"""Seconds that either may take."""


def compare(scale: Scale, say: Callable[[str], None]) -> Iterator[Comparison]:
    """Nodes join in turns, with our controller and with the recipe. Raises NotHere without a control plane."""
    found = _programs(say)
    rounds = 1 if scale is TINY else 3
    say(f"{2 * rounds} nodes join a cluster on a real API server")
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ControlPlane(found, Path(folder) / "plane") as plane:
        installation = Installation(plane).install()
        recipe = _Recipe(plane)
        for number in range(rounds):
            installation.forget()
            with installation.replica("bench") as replica:
                replica.lead()
                ours.append(_seconds(plane, f"ours-{number}", lambda name: None))
                say(f"  ours: {ours[-1]:.3f} s")
                replica.process.stop(grace=20)
            theirs.append(_seconds(plane, f"theirs-{number}", recipe.begin))
            recipe.end()
            say(f"  recipe: {theirs[-1]:.3f} s")
    yield Comparison(
        "join-to-allocatable",
        statistics.median(ours),
        statistics.median(theirs),
        "s",
        "recipe of starting point A",
        Better.TIMES_LESS,
        "a node of a known type",
        None if scale is TINY else PROMISED,
    )


def _programs(say: Callable[[str], None]) -> programs.Programs:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        raise NotHere("the recipe needs bash and curl")
    match programs.find():
        case programs.Programs() as found:
            return found
        case programs.Buildable():
            say("building the control plane, which takes some minutes the first time")
            return programs.build()
        case programs.Unavailable(because):
            raise NotHere(because)


class _Recipe:
    """Their account, rights and script."""

    def __init__(self, plane: ControlPlane) -> None:
        objects = [one.body for one in examples() if one.file == RECIPE]
        (daemon,) = [one for one in objects if one["kind"] == "DaemonSet"]
        (self._script,) = daemon["spec"]["template"]["spec"]["containers"][0]["args"]
        rights = [one for one in objects if one["kind"] != "DaemonSet"]
        plane.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(rights))
        self._plane = plane
        self._kubeconfig = plane.kubeconfig_for_service_account("kube-system", "add-gpu-memory")
        self._running = ExitStack()

    def begin(self, node: str) -> None:
        """Run the script for the node, as its pod would; only the port is one that is free here."""
        script = re.sub(r"\b8001\b", str(free_port()), self._script)
        environment = {
            "NODE": node,
            "KUBECONFIG": str(self._kubeconfig),
            "NO_PROXY": "127.0.0.1",
            "PATH": f"{self._plane.programs.folder}{os.pathsep}{os.environ['PATH']}",
        }
        log = self._plane.folder / f"recipe-{node}.log"
        self._running.enter_context(Process(["bash", "-c", script], log, environment))

    def end(self) -> None:
        """Kill what is left of it."""
        self._running.close()


def _seconds(plane: ControlPlane, name: str, appeared: Callable[[str], None]) -> float:
    """Let a node join, and watch it as anybody could. `appeared` is called at its first event."""
    times: list[float] = []

    def look() -> None:
        for event in plane.api.watch("/api/v1/nodes", LONGEST, fieldSelector=f"metadata.name={name}"):
            if not times:
                times.append(time.monotonic())
                appeared(name)
            if MEMORY in event["object"]["status"].get("allocatable", {}):
                times.append(time.monotonic())
                return

    watching = threading.Thread(target=look)
    watching.start()
    time.sleep(1)  # until the watch is open
    with HollowKubelet(plane, name):
        watching.join(LONGEST)
    if len(times) < 2:
        raise RuntimeError(f"{name}: the memory was not in allocatable within {LONGEST:g} s")
    return times[1] - times[0]
