"""Who hears what the loops did? The log gets a line, Prometheus gets numbers."""

from typing import Any

from structlog.typing import FilteringBoundLogger

from reconciler.kube.trouble import Trouble
from reconciler.serve.metrics import Metrics

QUIET = {"quiet", "gone"}
UNWELL = {"unavailable", "forbidden", "rejected"}


class Voice:
    """A worker's PassLog, and where doors report troubles."""

    def __init__(self, log: FilteringBoundLogger, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics

    def passed(self, loop: str, key: str, result: str, seconds: float, notes: tuple[tuple[str, Any], ...]) -> None:
        """One line a turn; turns that found nothing to do only at debug level."""
        self._metrics.passed(loop, result, seconds)
        say = self._log.debug if result in QUIET else self._log.warning if result in UNWELL else self._log.info
        say("pass", loop=loop, key=key, result=result, ms=round(seconds * 1000, 1), **dict(notes))

    def failed(self, loop: str, key: str, error: Exception) -> None:
        self._log.error("pass failed", loop=loop, key=key, exc_info=error)

    def trouble(self, trouble: Trouble) -> None:
        """Something outside is odd, and was stepped over or is tried again; a mistake of ours is told as an error."""
        self._metrics.trouble(trouble.kind)
        say = self._log.error if trouble.unforeseen else self._log.warning
        say("trouble", kind=trouble.kind, name=trouble.name, why=trouble.why)
