"""How many changes of pods can be followed? MODIFIED events per second of CPU, after a first sync."""

from collections.abc import Callable, Iterator

from tests.bench import processes
from tests.bench.client import Measured
from tests.bench.comparison import Better, Comparison
from tests.bench.scale import TINY, Scale

PROMISED = 50.0
"""Times more events than Watch() with typed models."""

NODES, PODS = 50, 1_500
"""What is held: small, so that the rival's first sync takes seconds."""


def compare(scale: Scale, say: Callable[[str], None]) -> Iterator[Comparison]:
    """Against Watch() and against a loop over lines. Slow rivals get fewer events; the rate is what counts."""
    nodes, pods = (scale.nodes, scale.pods) if scale is TINY else (NODES, PODS)
    say(f"{scale.events:,} MODIFIED events of {pods:,} pods")
    wanted = {"ours.events": scale.events, "dicts.events": scale.events // 3, "typed.events": scale.events // 15}

    def once(approach: str) -> Measured:
        return processes.run(approach, url, wanted[approach])

    with processes.server(nodes, pods) as url:
        found = processes.in_turns(dict.fromkeys(wanted, scale.rounds), once, say)
    rates = {approach: measured.count / measured.cost.cpu for approach, measured in found.items()}
    for name, rival, rival_name, promised in (
        ("watch-events", "typed.events", "kubernetes_asyncio Watch()", None if scale is TINY else PROMISED),
        ("watch-events-vs-dicts", "dicts.events", "aiohttp + json.loads", None),
    ):
        ours, theirs = rates["ours.events"], rates[rival]
        yield Comparison(
            name, ours, theirs, "events / CPU s", rival_name, Better.TIMES_MORE, f"{pods:,} pods", promised
        )
