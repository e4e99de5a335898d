"""What does it cost to know a whole cluster? CPU, peak memory and the event loop's longest pause of the first sync."""

from collections.abc import Callable, Iterator

from tests.bench import processes
from tests.bench.client import Measured
from tests.bench.comparison import Better, Comparison
from tests.bench.scale import FULL, Scale

LONGEST_STALL = 0.1
"""Seconds. A lease is renewed and a probe answered in between, whatever the size of the cluster."""

_PROMISED = {False: (60.0, 40.0), True: (40.0, 15.0)}
"""Times less CPU and times less memory than typed models, at full size; less where pods share nothing."""


def compare(scale: Scale, say: Callable[[str], None], *, unique: bool = False) -> Iterator[Comparison]:
    """Against typed models and against plain dicts. Typed runs once: it is slow enough to be steady."""
    say(f"first sync of {scale}{', each pod unique' if unique else ', pods of shared templates'}")
    rounds = {"dicts.sync": 1, "ours.sync": scale.rounds, "typed.sync": 1}
    with processes.server(scale.nodes, scale.pods, unique=unique) as url:
        found = processes.in_turns(rounds, lambda approach: processes.run(approach, url), say)
    for approach, measured in found.items():
        if measured.count != scale.nodes + scale.pods:
            raise RuntimeError(f"{approach} holds {measured.count} objects of {scale}")
    promised = _PROMISED[unique] if scale is FULL else (None, None)
    suffix = "-unique" if unique else ""
    yield from _three(suffix, found, "typed.sync", "kubernetes_asyncio", scale, promised)
    yield from _three(f"{suffix}-vs-dicts", found, "dicts.sync", "aiohttp + json.loads", scale, (None, None))


def _three(
    suffix: str,
    found: dict[str, Measured],
    rival: str,
    rival_name: str,
    scale: Scale,
    promised: tuple[float | None, float | None],
) -> Iterator[Comparison]:
    ours, theirs = found["ours.sync"].cost, found[rival].cost
    bound = LONGEST_STALL if scale is FULL else None
    rows = (
        ("cpu", ours.cpu, theirs.cpu, "CPU s", promised[0], None),
        ("memory", ours.memory / 1e6, theirs.memory / 1e6, "MB", promised[1], None),
        ("stall", ours.stall, theirs.stall, "s", None, bound),
    )
    for what, mine, their, unit, expected, most in rows:
        yield Comparison(
            f"first-sync-{what}{suffix}", mine, their, unit, rival_name, Better.TIMES_LESS, str(scale), expected, most
        )
