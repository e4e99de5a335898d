"""`make bench`: print how we compare with named rivals, and write the same to build/bench.json."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.bench import first_sync, patch_cost, watch_events
from tests.bench.comparison import Comparison, write
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
}


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; an exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHMARKS)}; all if none is named"
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick", action="store_true", help="a tenth of the size: minutes less, and no promises checked"
    )
    sizes.add_argument("--full", action="store_true", help="first-sync-unique at full size too (some 10 minutes more)")
    sizes.add_argument("--tiny", action="store_true", help="seconds: shows that it runs, the ratios say nothing")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: %(default)s")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    found: list[Comparison] = []
    for name in options.names or BENCHMARKS:
        found += BENCHMARKS[name](_scale(name, options), _say)
        write(found, options.output)
    print(f"\nRatios of this run, also in {options.output}:")
    for one in found:
        print(one.line())
    return verdict(found)


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
