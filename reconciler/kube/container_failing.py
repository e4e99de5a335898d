"""Why does a container not run, or not for long? A short text for people, the same from one try to the next.

It ends in a condition on the node, so waiting times, counters and the steps between two tries must not be in it.
"""

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct

from reconciler.kube.parse import Odd, moment
from reconciler.kube.probe_verdict import CREATING
from reconciler.kube.probe_views import StateWire, TerminatedWire
from reconciler.model.quoting import quoted

LONGEST = 200
"""Characters."""

_PULLING = ("ErrImagePull", "ImagePullBackOff")
"""The kubelet goes back and forth between the two (pkg/kubelet/images)."""
_PLAIN_ENDS = ("", "Error", "Completed")
"""Reasons of a container's end that say no more than its exit code."""


class ContainerStatusWire(Struct, rename="camel", gc=False):
    name: str | None = None
    image: str | None = None
    state: StateWire | None = None
    last_state: StateWire | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    because: str
    """Reason and last words."""
    again: datetime | None = None
    """When the container was started once more; None: it does not run."""


def failure(status: ContainerStatusWire, odd: Odd) -> Failure | None:
    """None: it runs and never failed, is about to run, or has done what an init container does.

    In a crash loop the container runs for a moment after each wait, and looks sound for as long.
    """
    because = _failing(status)
    if because:
        return Failure(because)
    running = status.state.running if status.state is not None else None
    ended = status.last_state.terminated if status.last_state is not None else None
    if running is None or ended is None or not ended.exit_code:
        return None
    return Failure(_ended(ended), moment(running.started_at, odd, "status.containerStatuses.state.running.startedAt"))


def _failing(status: ContainerStatusWire) -> str:
    state = status.state or StateWire()
    ended = state.terminated
    if state.waiting is not None:
        reason = state.waiting.reason or ""
        if reason in CREATING:
            return ""
        if reason in _PULLING:
            return _short(f"ImagePullBackOff: {status.image or 'of this container'}")
        if reason != "CrashLoopBackOff":
            return _short(f"{reason}: {state.waiting.message}" if state.waiting.message else reason)
        ended = status.last_state.terminated if status.last_state is not None else None
        if ended is None:
            return reason
    elif ended is None or not ended.exit_code:
        return ""
    return _ended(ended)


def _ended(ended: TerminatedWire) -> str:
    reason = "" if (ended.reason or "") in _PLAIN_ENDS else f" ({ended.reason})"
    said = f": {ended.message}" if (ended.message or "").strip() else ""
    return _short(f"CrashLoopBackOff, exit code {ended.exit_code or 0}{reason}{said}")


def _short(text: str) -> str:
    return quoted(text, LONGEST)
