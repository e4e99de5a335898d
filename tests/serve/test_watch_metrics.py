"""serve/watch_metrics.py: what the watches went through, one series a kind."""

from reconciler.serve.metrics import Metrics
from reconciler.serve.watch_metrics import Watched


def page(*watches: Watched) -> list[str]:
    """The lines of /metrics about these watches."""
    metrics = Metrics()
    metrics.watching(lambda: watches)
    return [line for line in metrics.text().decode().splitlines() if line.startswith("gpu_reconciler_watch_")]


def test_every_kind_has_its_counters_and_the_time_of_the_last_word() -> None:
    assert page(Watched("Node", events=9, lists=1, requests=3, failures=2, heard=1_800_000_000.5)) == [
        'gpu_reconciler_watch_events_total{kind="Node"} 9.0',
        'gpu_reconciler_watch_lists_total{kind="Node"} 1.0',
        'gpu_reconciler_watch_requests_total{kind="Node"} 3.0',
        'gpu_reconciler_watch_failures_total{kind="Node"} 2.0',
        'gpu_reconciler_watch_last_heard_timestamp_seconds{kind="Node"} 1.8000000005e+09',
    ]


def test_watches_of_one_kind_are_one_series_that_shows_the_most_silent_of_them() -> None:
    """The pods of the cluster and those of the probes are watched apart; a series must not come twice."""
    lines = page(
        Watched("Pod", events=5, lists=1, requests=1, failures=0, heard=200.0),
        Watched("Job", events=1, lists=1, requests=1, failures=0, heard=None),
        Watched("Pod", events=7, lists=1, requests=1, failures=1, heard=100.0),
    )

    assert [line for line in lines if 'kind="Pod"' in line] == [
        'gpu_reconciler_watch_events_total{kind="Pod"} 12.0',
        'gpu_reconciler_watch_lists_total{kind="Pod"} 2.0',
        'gpu_reconciler_watch_requests_total{kind="Pod"} 2.0',
        'gpu_reconciler_watch_failures_total{kind="Pod"} 1.0',
        'gpu_reconciler_watch_last_heard_timestamp_seconds{kind="Pod"} 100.0',
    ]
    assert not [line for line in lines if "last_heard" in line and "Job" in line], "who never spoke has no time"


def test_the_figures_are_those_of_the_moment_of_asking() -> None:
    metrics = Metrics()
    now = [Watched("Node", 1, 1, 1, 0, None)]
    metrics.watching(lambda: now)
    now[0] = Watched("Node", 2, 1, 1, 0, None)

    assert 'gpu_reconciler_watch_events_total{kind="Node"} 2.0' in metrics.text().decode()
