"""How does a real Karpenter run on the control plane, with a cloud that it can buy machines from?"""

from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fleet import Birth, Fleet
from tests.controlplane.kinds import Kinds
from tests.controlplane.kubelet import Machine
from tests.controlplane.process import Died, Process, free_port
from tests.controlplane.programs import Programs
from tests.controlplane.waiting import eventually

_number = itertools.count(1)
_TRIES = 3  # a free port may be taken before the program that gets it has started


class Cloud(Protocol):
    """What one of the two Karpenters buys from: "kwok" (see kwok.py) or AWS (see karpenter_aws.py)."""

    @property
    def program(self) -> str:
        """The name of its Karpenter in the folder of programs."""
        ...

    @property
    def crds(self) -> str:
        """The folder of its definitions there, under crds."""
        ...

    @property
    def node_class(self) -> Json:
        """The node class of every NodePool."""
        ...

    def environment(self) -> Mapping[str, str]:
        """What its Karpenter needs to know, besides what all Karpenters do."""
        ...

    def birth(self, claim: Json) -> Birth | None:
        """The machine that was bought for a launched NodeClaim."""
        ...


C = TypeVar("C", bound=Cloud)
Dresses = Callable[[Json, Machine], Machine]


class Karpenter(Generic[C]):
    """Karpenter's kinds, its node class "default", Karpenter itself, and a fleet that boots what it buys.

    `overlays` is the feature gate NodeOverlay. `dresses` may change each machine before it boots. Leaving the context
    takes everything away again, kinds and nodes included.
    """

    def __init__(
        self,
        plane: ControlPlane,
        programs: Programs,
        cloud: C,
        *,
        overlays: bool = True,
        dresses: Dresses = lambda _, machine: machine,
    ) -> None:
        self.fleet = Fleet(plane, self._birth)
        self.cloud = cloud
        self.overlays = overlays
        self.log = plane.folder / f"{cloud.program}-{next(_number)}.log"
        self._plane = plane
        self._programs = programs
        self._dresses = dresses
        self._kinds = Kinds(plane, programs.folder / "crds" / cloud.crds)
        self._process: Process | None = None
        self._inside = ExitStack()

    def start(self) -> Self:
        """Start the process and wait until it is ready."""
        for left in reversed(range(_TRIES)):
            try:
                self._start()
                return self
            except Died as death:
                if left == 0 or "address already in use" not in str(death):
                    raise
        return self

    def stop(self) -> None:
        """Kill Karpenter; machines and objects stay."""
        if self._process:
            self._process.kill()
            self._process = None

    def restart(self, *, overlays: bool | None = None) -> Self:
        """Kill it and start it again, with nothing in its memory; `overlays` changes the feature gate."""
        self.stop()
        self.overlays = self.overlays if overlays is None else overlays
        return self.start()

    def pool(self, name: str = "dev", **how: Any) -> Json:
        """Make a NodePool (see `karpenter_objects.node_pool`) and wait until Karpenter takes pods for it."""
        made = self._plane.api.post(objects.POOLS, objects.node_pool(name, self._node_class_ref(), **how))
        path = f"{objects.POOLS}/{name}"
        eventually(
            lambda: (objects.condition(self._plane.api.get(path), "Ready") or ("",))[0] == "True",
            f"NodePool {name} is ready",
            30,
        )
        return made

    def overlay(self, name: str, capacity: Mapping[str, str], **how: Any) -> str:
        """Make a NodeOverlay (see `karpenter_objects.node_overlay`); its path. Nothing waits for its status."""
        self._plane.api.post(objects.OVERLAYS, objects.node_overlay(name, capacity, **how))
        return f"{objects.OVERLAYS}/{name}"

    def claims(self, pool: str | None = None) -> list[Json]:
        """The NodeClaims, of one NodePool or of all."""
        self.check()
        found = self._plane.api.get(objects.CLAIMS)["items"]
        return [one for one in found if pool in (None, one["metadata"]["labels"].get(objects.NODEPOOL))]

    def claim(self, pool: str | None = None, *, told: str = "Launched", seconds: float = 30) -> Json:
        """Wait for the one NodeClaim with the condition `told` true."""

        def one() -> Json | None:
            found = self.claims(pool)
            assert len(found) <= 1, [claim["metadata"]["name"] for claim in found]
            reached = [claim for claim in found if (objects.condition(claim, told) or ("",))[0] == "True"]
            return reached[0] if reached else None

        return eventually(one, f"a NodeClaim is {told}", seconds)

    def node(self, claim: Json) -> Json:
        """Wait for the Node of a NodeClaim, and return it."""
        node = eventually(
            lambda: self._again(claim).get("status", {}).get("nodeName"), "the claim's node is registered", 30
        )
        return self._plane.api.get(f"/api/v1/nodes/{node}")

    def told(self, claim: Json, kind: str) -> tuple[str, str, str] | None:
        """Status, reason and message of that condition of a NodeClaim, as it is now."""
        self.check()
        return objects.condition(self._again(claim), kind)

    def holds(self, claim: Json, kind: str) -> bool:
        """Whether that condition of a NodeClaim is true now."""
        return (self.told(claim, kind) or ("",))[0] == "True"

    def said(self) -> list[Json]:
        """The lines of its log."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def check(self) -> None:
        """Raise if Karpenter or a kubelet has died."""
        if self._process:
            self._process.check()
        self.fleet.check()

    def __enter__(self) -> Self:
        with ExitStack() as inside:
            inside.callback(self._take_away)
            self._install()
            inside.enter_context(self.fleet)
            inside.callback(self.stop)  # before the machines, or it would wonder where they went
            self.start()
            self._inside = inside.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside.__exit__(kind, error, trace)

    def _start(self) -> None:
        kubeconfig = self._plane.kubeconfig_for(
            "karpenter", token=self._plane.admin_token, user="karpenter", groups=["system:masters"]
        )
        health = free_port()
        environment = {
            "KUBECONFIG": str(kubeconfig),
            "SYSTEM_NAMESPACE": "kube-system",
            "DISABLE_LEADER_ELECTION": "true",
            "FEATURE_GATES": f"NodeOverlay={str(self.overlays).lower()}",
            "METRICS_PORT": str(free_port()),
            "HEALTH_PROBE_PORT": str(health),
            "BATCH_IDLE_DURATION": "1s",
            "BATCH_MAX_DURATION": "2s",
            "LOG_LEVEL": "debug",
            **self.cloud.environment(),
        }
        self._process = Process([self._programs.path(self.cloud.program)], self.log, environment)
        eventually(lambda: self._is_ready(health), "Karpenter is ready", 60)

    def _is_ready(self, port: int) -> bool:
        self.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return False
        except OSError:
            return False

    def _birth(self, claim: Json) -> Birth | None:
        birth = self.cloud.birth(claim)
        return birth and Birth(birth.node, self._dresses(claim, birth.machine))

    def _again(self, claim: Json) -> Json:
        return self._plane.api.get(f"{objects.CLAIMS}/{claim['metadata']['name']}")

    def _node_class_ref(self) -> dict[str, str]:
        node_class = self.cloud.node_class
        group = node_class["apiVersion"].partition("/")[0]
        return {"group": group, "kind": node_class["kind"], "name": node_class["metadata"]["name"]}

    def _install(self) -> None:
        self._kinds.install()
        node_class = self.cloud.node_class
        self._plane.api.post(self._kinds.path(node_class["kind"]), node_class)

    def _take_away(self) -> None:
        nodes = self._plane.api.get("/api/v1/nodes")["items"]
        bought = {one["metadata"]["name"] for one in nodes if objects.NODEPOOL in one["metadata"]["labels"]}
        booted = {kubelet.name for kubelet in self.fleet.kubelets.values()}
        self._kinds.take_away([f"/api/v1/nodes/{name}" for name in sorted(bought | booted)])
