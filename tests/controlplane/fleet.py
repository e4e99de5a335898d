"""Who switches machines on and off when Karpenter has bought them?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.karpenter_objects import CLAIMS, condition
from tests.controlplane.kubelet import HollowKubelet, Machine

_EVERY = 0.1  # seconds between two looks


@dataclass(frozen=True, slots=True)
class Birth:
    """The node that a machine will register, and the machine."""

    node: str
    machine: Machine


class Fleet:
    """Boots a hollow kubelet for each NodeClaim that was launched, and kills it once its instance is terminated.

    It is what EC2 is to Karpenter: a kubelet registers its node by itself, Karpenter drains and deletes it. `birth`
    says which machine a claim gets, or None for "not yet". `hold` keeps new machines from booting.
    """

    def __init__(self, plane: ControlPlane, birth: Callable[[Json], Birth | None]) -> None:
        self.kubelets: dict[str, HollowKubelet] = {}
        """The machines that run, by the name of their NodeClaim."""
        self._plane = plane
        self._birth = birth
        self._boots = threading.Event()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)

    def hold(self) -> None:
        """Let no further machine boot; the instances stay bought."""
        self._boots.clear()

    def release(self) -> None:
        """Let machines boot again."""
        self._boots.set()

    def check(self) -> None:
        """Raise what went wrong behind the test's back, a kubelet that died for one."""
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        self._boots.set()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        for kubelet in self.kubelets.values():
            kubelet.stop()
        if error is None:
            self.check()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            try:
                self._look()
            except OSError:
                continue  # a test may stop the API server
            except Exception as failure:
                self._failure = failure
                return

    def _look(self) -> None:
        claims = {claim["metadata"]["name"]: claim for claim in self._plane.api.get(CLAIMS)["items"]}
        for name, kubelet in list(self.kubelets.items()):
            if name not in claims or _terminated(claims[name]):
                kubelet.stop()
                del self.kubelets[name]
            else:
                kubelet.check()
        for name, claim in claims.items():
            due = name not in self.kubelets and self._boots.is_set() and _launched(claim)
            if due and (birth := self._birth(claim)):
                self.kubelets[name] = HollowKubelet(self._plane, birth.node, birth.machine).launch()


def _launched(claim: Json) -> bool:
    return bool(claim.get("status", {}).get("providerID")) and "deletionTimestamp" not in claim["metadata"]


def _terminated(claim: Json) -> bool:
    told = condition(claim, "InstanceTerminating")
    return told is not None and told[0] == "True"
