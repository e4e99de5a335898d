"""tests/bench: the machinery gives finite ratios and writes them down. What they are is `make bench`'s question."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.kube import sources
from reconciler.kube.trouble import Trouble
from tests.bench import nodes, pods
from tests.bench.__main__ import BENCHMARKS, MISSED, NOT_RUN, main, verdict
from tests.bench.client import Measured
from tests.bench.comparison import Better, Comparison, NotHere
from tests.bench.meter import Cost
from tests.bench.processes import in_turns
from tests.bench.scale import Scale


@pytest.mark.skipif(sys.platform != "linux", reason="measured by /proc, which only Linux has; `make bench` says so too")
def test_a_tiny_run_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Server, approaches, table and file, all real, on a few objects."""
    output = tmp_path / "build" / "bench.json"
    assert main(["--tiny", "--output", str(output), "first-sync", "watch-events", "patch-cost"]) == 0
    written = json.loads(output.read_text())
    assert set(written) == {
        "first-sync-cpu",
        "first-sync-memory",
        "first-sync-stall",
        "first-sync-cpu-vs-dicts",
        "first-sync-memory-vs-dicts",
        "first-sync-stall-vs-dicts",
        "watch-events",
        "watch-events-vs-dicts",
        "patch-cost",
        "patch-cost-vs-typed",
    }
    printed = capsys.readouterr().out
    for name, entry in written.items():
        assert all(math.isfinite(entry[field]) and entry[field] > 0 for field in ("ours", "rival", "ratio")), name
        assert name in printed


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names those there are."""
    with pytest.raises(SystemExit):
        main(["first-synk"])
    told = capsys.readouterr().err
    assert all(name in told for name in BENCHMARKS)


def test_a_benchmark_that_cannot_be_run_is_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is missing in the file, said loudly, and the exit status tells; the others are run."""

    def not_here(scale: Scale, say: Callable[[str], None]) -> Iterator[Comparison]:
        raise NotHere("there is no Go")

    def fine(scale: Scale, say: Callable[[str], None]) -> Iterator[Comparison]:
        yield _compared(Better.TIMES_LESS, 1, 2, None, None)

    output = tmp_path / "bench.json"
    assert main(["--tiny", "--output", str(output)], {"join": not_here, "fine": fine}) == NOT_RUN
    assert set(json.loads(output.read_text())) == {"x"}
    assert "NOT RUN: join: there is no Go" in capsys.readouterr().out


def _compared(better: Better, ours: float, rival: float, expected: float | None, bound: float | None) -> Comparison:
    return Comparison("x", ours, rival, "s", "rival", better, "tiny", expected, bound)


@pytest.mark.parametrize(
    ("compared", "ratio", "holds"),
    [
        (_compared(Better.TIMES_LESS, 2, 120, 60, None), 60, True),
        (_compared(Better.TIMES_LESS, 2, 119, 60, None), 59.5, False),
        (_compared(Better.TIMES_MORE, 100, 2, 50, None), 50, True),
        (_compared(Better.TIMES_MORE, 98, 2, 50, None), 49, False),
        (_compared(Better.COST_OF, 120, 100, 1.2, None), 1.2, True),
        (_compared(Better.COST_OF, 130, 100, 1.2, None), 1.3, False),
        (_compared(Better.TIMES_LESS, 0.2, 10, None, 0.1), 50, False),
        (_compared(Better.TIMES_LESS, 2, 1, None, None), 0.5, True),
    ],
)
def test_a_promise_is_kept_or_missed(compared: Comparison, ratio: float, holds: bool) -> None:
    """The ratio's direction, and what makes a promise: a ratio, a bound on ours, or nothing."""
    assert compared.ratio == pytest.approx(ratio)
    assert compared.holds is holds
    assert verdict([compared]) == (0 if holds else MISSED)
    assert ("MISSED" in compared.line()) is not holds


def test_approaches_take_turns_and_give_medians() -> None:
    """A slow minute meets all approaches, and one odd run decides nothing."""
    order: list[str] = []

    def once(approach: str) -> Measured:
        order.append(approach)
        return Measured(7, Cost(cpu=[9.0, 1.0, 2.0][order.count(approach) - 1], memory=5, stall=0.0, wall=1.0))

    found = in_turns({"a": 3, "b": 1}, once, lambda text: None)
    assert order == ["a", "b", "a", "a"]
    assert (found["a"].cost.cpu, found["b"].cost.cpu) == (2.0, 9.0)


def test_different_amounts_of_work_are_not_compared() -> None:
    """A run that lost objects would look fast."""
    counts = iter([3, 4])
    with pytest.raises(RuntimeError, match="different amounts"):
        in_turns({"a": 2}, lambda _: Measured(next(counts), Cost(1, 1, 1, 1)), lambda text: None)


def test_the_door_reads_the_measured_objects_without_trouble() -> None:
    """Or the tolerant path would be measured; sizes are those of real clusters."""
    troubles: list[Trouble] = []
    for source, made, least, most in (
        (sources.pods(troubles.append), list(pods.pods(400, 10)), 6_000, 9_500),
        (sources.nodes(troubles.append), list(nodes.nodes(12)), 9_000, 13_000),
    ):
        assert least < sum(map(len, made)) / len(made) < most
        page = source.reader.page(b'{"metadata":{"resourceVersion":"1"},"items":[%b]}' % b",".join(made))
        assert all(item.view is not None for item in page.items)
        assert len({item.key for item in page.items}) == len(made)
    assert troubles == []


def test_unique_pods_share_nothing() -> None:
    """Labels, owners and requests are each pod's own."""
    made = [json.loads(pod) for pod in pods.pods(300, 10, unique=True)]
    for parts in (
        [pod["metadata"]["labels"] for pod in made],
        [pod["metadata"]["ownerReferences"] for pod in made],
        [pod["spec"]["containers"][0]["resources"] for pod in made],
    ):
        assert len({json.dumps(part) for part in parts}) == len(made)
