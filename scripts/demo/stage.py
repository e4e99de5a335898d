"""On what is the story played? A cluster that nodes can join, whoever its servers are."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from reconciler.runtime.clock import Clock
from reconciler.runtime.transport import Transport
from reconciler.sandbox.machine import Machine

ADMIN = "admin"
CONTROLLER = "gpu-reconciler"
NAMESPACE = "gpu-reconciler"


class NoStage(Exception):
    """The cluster cannot be had; the text says why and what to do."""


class Stage(Protocol):
    """A running cluster with the controller's namespace, the device plugin's chart and Karpenter's kinds; no nodes."""

    @property
    def title(self) -> str:
        """What it is, for people."""
        ...

    @property
    def clock(self) -> Clock:
        """Its time."""
        ...

    def transport(self, user: str) -> Transport:
        """The API server as ADMIN or as CONTROLLER."""
        ...

    async def add_node(self, name: str, machine: Machine) -> None:
        """Start a machine with a kubelet; returns when its Node is registered."""
        ...

    async def restart_kubelet(self, name: str) -> None:
        """Restart the kubelet without its device checkpoint: it sets every extended resource of its Node to 0."""
        ...

    def open_to_kubectl(self) -> AbstractAsyncContextManager[Path]:
        """Gives a kubeconfig, which works while the context lasts."""
        ...
