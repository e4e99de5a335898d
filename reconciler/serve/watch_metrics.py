"""How are the watches doing? One series a kind, read from them when somebody asks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True)
class Watched:
    """What one watch has gone through. `heard`: when the server last said anything, Unix time; None: never yet."""

    kind: str
    events: int
    lists: int
    requests: int
    failures: int
    heard: float | None


class WatchMetrics(Collector):
    """Several watches of one kind are counted together, and the one that was silent for the longest time is shown."""

    def __init__(self, read: Callable[[], Iterable[Watched]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """The families, as prometheus_client asks for them."""
        events = _counter("events", "Events that were read, bookmarks included.")
        lists = _counter("lists", "How often everything was read anew.")
        requests = _counter("requests", "Watches that were opened.")
        failures = _counter("failures", "Watches and lists that failed, and were tried again after a pause.")
        heard = GaugeMetricFamily(
            "gpu_reconciler_watch_last_heard_timestamp_seconds",
            "Unix time of the last word from the API server; a healthy watch has one a minute.",
            labels=["kind"],
        )
        for kind, watches in _by_kind(self._read()):
            events.add_metric([kind], sum(one.events for one in watches))
            lists.add_metric([kind], sum(one.lists for one in watches))
            requests.add_metric([kind], sum(one.requests for one in watches))
            failures.add_metric([kind], sum(one.failures for one in watches))
            spoken = [one.heard for one in watches if one.heard is not None]
            if spoken:
                heard.add_metric([kind], min(spoken))
        yield from (events, lists, requests, failures, heard)


def _counter(what: str, meaning: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"gpu_reconciler_watch_{what}", meaning, labels=["kind"])


def _by_kind(watches: Iterable[Watched]) -> Iterator[tuple[str, Sequence[Watched]]]:
    ordered = sorted(watches, key=lambda one: one.kind)
    for kind, same in groupby(ordered, key=lambda one: one.kind):
        yield kind, list(same)
