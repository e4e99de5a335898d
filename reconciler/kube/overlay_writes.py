"""How is a change of our overlays carried out? One API call each, safe to repeat, and never on somebody else's."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from reconciler.kube import fence, write
from reconciler.kube.errors import Exists
from reconciler.kube.fence import Fence, NotLeader
from reconciler.kube.overlays import API_VERSION, PATH
from reconciler.model import names, quantity
from reconciler.model.node_pool import Requirement
from reconciler.model.overlay import (
    Finding,
    OverlayAction,
    OverlayView,
    RemoveOverlay,
    Wanted,
    WriteOverlay,
)
from reconciler.model.plan import Done, Lost, Outcome
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Gone, Rejected, Stale
from reconciler.runtime.transport import Request, Transport

KIND = "NodeOverlay"


def manifest(overlay: Wanted) -> dict[str, Any]:
    """The object as people apply it."""
    metadata = {
        "name": overlay.name,
        "labels": {names.LABEL_OVERLAY: overlay.subject.value, "app.kubernetes.io/name": "gpu-reconciler"},
    }
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": _spec(overlay)}


def request(action: OverlayAction) -> Request:
    """POST where there is none; PATCH against the very version that was looked at; DELETE by UID."""
    match action:
        case WriteOverlay(overlay, over):
            if over is None:
                return write.request("POST", PATH, manifest(overlay))
            return write.request("PATCH", f"{PATH}/{overlay.name}", _patch(overlay, over), write.MERGE)
        case RemoveOverlay(name, uid):
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
            return write.request("DELETE", f"{PATH}/{name}", body)
        case _:
            assert_never(action)


class KubeOverlays:
    """Carries out changes in order, and tells what is found as Events on our overlays."""

    def __init__(self, transport: Transport, *, may_write: Fence, clock: Clock) -> None:
        self._transport = transport
        self._may_write = may_write
        self._clock = clock

    async def apply(self, actions: Sequence[OverlayAction]) -> Sequence[Outcome]:
        """One outcome for each. Raises what `runtime.errors` names; Stale when somebody was faster."""
        return [await self._one(action) for action in actions]

    async def tell(self, finding: Finding, about: OverlayView) -> None:
        """One Event; the same words within an hour are the same Event. Raises what `runtime.errors` names."""
        overlay = {"apiVersion": API_VERSION, "kind": KIND, "name": about.name, "uid": about.uid}
        said = write.event(overlay, finding.reason.value, finding.sentence, self._clock.now(), warning=finding.warning)
        with contextlib.suppress(Exists):  # then it was told within this hour
            await self._send(said)

    async def _one(self, action: OverlayAction) -> Outcome:
        try:
            await self._send(request(action))
        except NotLeader:
            raise
        except Gone as error:
            if isinstance(action, WriteOverlay) and action.over is None:
                raise Rejected(f"{error}: the cluster does not know the kind {KIND}") from error
            return Lost(str(error))
        except Stale as error:
            if isinstance(action, RemoveOverlay):
                return Lost(str(error))  # a namesake: the one that was meant is gone
            raise
        return Done()

    async def _send(self, request: Request) -> None:
        await fence.send(self._transport, self._may_write, request)


def _spec(overlay: Wanted) -> dict[str, Any]:
    return {
        "weight": overlay.weight,
        "requirements": [_requirement(one) for one in overlay.requirements],
        "capacity": {name: quantity.text(amount) for name, amount in overlay.capacity.items()},
    }


def _patch(overlay: Wanted, over: OverlayView) -> Mapping[str, Any]:
    """Ours in the place of what stands; fields that we do not set (a price) stay as they are."""
    spec = _spec(overlay)
    spec["capacity"] |= {name: None for name in over.capacity if name not in overlay.capacity}
    metadata = {
        "uid": over.uid,
        "resourceVersion": over.resource_version,
        "labels": {names.LABEL_OVERLAY: overlay.subject.value},
    }
    return {"metadata": metadata, "spec": spec}


def _requirement(one: Requirement) -> dict[str, Any]:
    return {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
