"""What does one write cost? CPU of a PATCH of a node's status, from the action to the outcome."""

from collections.abc import Callable, Iterator

from tests.bench import processes
from tests.bench.client import CONCURRENT_PATCHES
from tests.bench.comparison import Better, Comparison
from tests.bench.scale import TINY, Scale

PROMISED = 1.2
"""Times the cost of the same PATCH on bare aiohttp, at most."""


def compare(scale: Scale, say: Callable[[str], None]) -> Iterator[Comparison]:
    """Against bare aiohttp, which is the least we could do, and against patch_node_status()."""
    say(f"{scale.patches:,} PATCHes of nodes/status, {CONCURRENT_PATCHES} at a time")
    wanted = {"ours.patches": scale.patches, "dicts.patches": scale.patches, "typed.patches": scale.patches // 10}
    often = 1 if scale is TINY else 2 * scale.rounds  # the two are close, so chance must be small
    rounds = {"ours.patches": often, "dicts.patches": often, "typed.patches": scale.rounds}
    with processes.server(1, 1) as url:
        found = processes.in_turns(rounds, lambda approach: processes.run(approach, url, wanted[approach]), say)
    each = {approach: measured.cost.cpu / measured.count * 1e6 for approach, measured in found.items()}
    ours, how = each["ours.patches"], f"{CONCURRENT_PATCHES} at a time"
    promised = None if scale is TINY else PROMISED
    yield Comparison("patch-cost", ours, each["dicts.patches"], "CPU us", "bare aiohttp", Better.COST_OF, how, promised)
    yield Comparison(
        "patch-cost-vs-typed", ours, each["typed.patches"], "CPU us", "patch_node_status()", Better.TIMES_LESS, how
    )
