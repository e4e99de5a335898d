"""`make bench`: print how we compare with named rivals, and write the same to build/bench.json."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench import first_sync, join, patch_cost, watch_events
from tests.bench.comparison import Comparison, NotHere, write
from tests.bench.scale import FULL, TENTH, TINY, Scale

OUTPUT = Path("build/bench.json")
MISSED, NOT_RUN = 1, 3
"""Exit statuses: a promise was not kept; a benchmark could not be run here."""

Benchmark = Callable[[Scale, Callable[[str], None]], Iterator[Comparison]]

BENCHMARKS: dict[str, Benchmark] = {
    "first-sync": first_sync.compare,
    "first-sync-unique": lambda scale, say: first_sync.compare(scale, say, unique=True),
    "watch-events": watch_events.compare,
    "patch-cost": patch_cost.compare,
    "join-to-allocatable": join.compare,
}


def main(arguments: Sequence[str], benchmarks: Mapping[str, Benchmark] = BENCHMARKS) -> int:
    """Run what was asked for; an exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join(benchmarks)}; all if none is named"
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick", action="store_true", help="a tenth of the size: minutes less, and no promises checked"
    )
    sizes.add_argument("--full", action="store_true", help="first-sync-unique at full size too (some 10 minutes more)")
    sizes.add_argument("--tiny", action="store_true", help="seconds: shows that it runs, the ratios say nothing")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in benchmarks]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(benchmarks)}")
    found: list[Comparison] = []
    not_run: list[str] = []
    for name in options.names or benchmarks:
        try:
            found += benchmarks[name](_scale(name, options), _say)
        except NotHere as reason:
            not_run.append(f"NOT RUN: {name}: {reason}")
        write(found, options.output)
    print(f"\nRatios of this run, also in {options.output}:")
    for text in [*(one.line() for one in found), *not_run]:
        print(text)
    return verdict(found) or (NOT_RUN if not_run else 0)


def verdict(found: Sequence[Comparison]) -> int:
    """The exit status that these figures deserve."""
    return 0 if all(one.holds for one in found) else MISSED


def _scale(name: str, options: argparse.Namespace) -> Scale:
    if options.tiny:
        return TINY
    if options.quick:
        return TENTH
    return TENTH if name == "first-sync-unique" and not options.full else FULL


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
