"""How are approaches run? The server and each approach in a fresh interpreter, taken in turns, medians at the end."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.bench.client import Measured
from tests.bench.comparison import NotHere
from tests.bench.meter import Cost

LONGEST = 4 * 3600
"""Seconds for one approach: far beyond what the slowest needs."""


@contextmanager
def server(nodes: int, pods: int, *, unique: bool = False) -> Iterator[str]:
    """The measured cluster in a process of its own; gives its address. Raises NotHere off Linux."""
    if sys.platform != "linux":
        raise NotHere("memory and pauses are measured by /proc, which only Linux has")
    argv = [sys.executable, "-m", "tests.bench.server", str(nodes), str(pods), *(["unique"] if unique else [])]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"the measured server ended before it served; status {process.wait()}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.communicate()  # closes its standard input, which ends it


def run(approach: str, url: str, *numbers: int) -> Measured:
    """One approach, once. Raises RuntimeError with what it said when it fails."""
    argv = [sys.executable, "-m", "tests.bench.child", approach, url, *map(str, numbers)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LONGEST)
    if done.returncode != 0:
        raise RuntimeError(f"{approach} ended with status {done.returncode}:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Measured(found["count"], Cost(**found["cost"]))


def in_turns(
    rounds: Mapping[str, int], once: Callable[[str], Measured], say: Callable[[str], None]
) -> dict[str, Measured]:
    """Each approach so many times, taking turns, so that a busy minute of the machine meets all alike; medians."""
    found: dict[str, list[Measured]] = {approach: [] for approach in rounds}
    for number in range(max(rounds.values())):
        for approach, times in rounds.items():
            if number < times:
                began = time.monotonic()
                measured = once(approach)
                cost = measured.cost
                found[approach].append(measured)
                say(
                    f"  {approach}: {measured.count} in {cost.cpu:.2f} s of CPU, {cost.memory / 1e6:.0f} MB, "
                    f"longest stall {cost.stall:.3f} s, {time.monotonic() - began:.0f} s in all"
                )
    return {approach: _median(runs) for approach, runs in found.items()}


def _median(runs: list[Measured]) -> Measured:
    counts = {run.count for run in runs}
    if len(counts) != 1:
        raise RuntimeError(f"the same approach did different amounts of work: {sorted(counts)}")
    costs = [run.cost for run in runs]
    return Measured(
        counts.pop(),
        Cost(
            statistics.median(cost.cpu for cost in costs),
            int(statistics.median(cost.memory for cost in costs)),
            statistics.median(cost.stall for cost in costs),
            statistics.median(cost.wall for cost in costs),
        ),
    )
