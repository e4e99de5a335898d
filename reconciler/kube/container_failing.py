"""Why does a container not run? A short text for people, the same from one try of the kubelet's to the next.

It ends in a condition on the node, so waiting times, counters and the steps between two tries must not be in it.
"""

from msgspec import Struct

from reconciler.kube.probe_views import StateWire
from reconciler.model.quoting import quoted

LONGEST = 200
"""Characters."""

_STARTING = ("", "ContainerCreating", "PodInitializing")
_PULLING = ("ErrImagePull", "ImagePullBackOff")
"""The kubelet goes back and forth between the two (pkg/kubelet/images)."""
_PLAIN_ENDS = ("", "Error", "Completed")
"""Reasons of a container's end that say no more than its exit code."""


class ContainerStatusWire(Struct, rename="camel", gc=False):
    name: str | None = None
    image: str | None = None
    state: StateWire | None = None
    last_state: StateWire | None = None


def failing(status: ContainerStatusWire) -> str:
    """Reason and last words, or empty: it runs, is about to, or has done what an init container does."""
    state = status.state or StateWire()
    ended = state.terminated
    if state.waiting is not None:
        reason = state.waiting.reason or ""
        if reason in _STARTING:
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
    reason = "" if (ended.reason or "") in _PLAIN_ENDS else f" ({ended.reason})"
    said = f": {ended.message}" if (ended.message or "").strip() else ""
    return _short(f"CrashLoopBackOff, exit code {ended.exit_code or 0}{reason}{said}")


def _short(text: str) -> str:
    return quoted(text, LONGEST)
