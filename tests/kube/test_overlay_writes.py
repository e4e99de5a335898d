"""kube/overlay_writes.py: each change is one call that names just what it means, and is safe to repeat."""

from typing import Any

import msgspec
import pytest

from reconciler.kube.fence import NotLeader
from reconciler.kube.overlay_writes import KubeOverlays, manifest
from reconciler.kube.overlays import PATH, OverlayWire, parse
from reconciler.model import names
from reconciler.model.node import InstanceType
from reconciler.model.overlay import Finding, OverlayReason, OverlayView, RemoveOverlay, Subject, Wanted, WriteOverlay
from reconciler.model.plan import Done, Lost
from reconciler.runtime.errors import Rejected, Stale
from reconciler.sandbox.kinds import NODEOVERLAYS, definition
from tests.kube.world import MERGE, World, virtual

MIB = 1 << 20
MEMORY = "veriff.com/gpu-memory"
WANTED = Wanted("ours", Subject.MEMORY, (InstanceType("g4dn.xlarge"),), {MEMORY: 14592 * MIB}, 10)
SPEC = {
    "weight": 10,
    "requirements": [{"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": ["g4dn.xlarge"]}],
    "capacity": {MEMORY: "14592Mi"},
}
NOT_THERE_YET = RemoveOverlay("ours", "another-uid")


class Acting:
    """An actuator on a small cluster that knows the kind."""

    def __init__(self, *, kind: bool = True) -> None:
        self.world = World()
        if kind:
            self.world.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(NODEOVERLAYS))
        self.left = 100.0
        self.actuator = KubeOverlays(self.world.transport, may_write=self.fence, clock=self.world.clock)

    def fence(self) -> float:
        if self.left <= 0:
            raise NotLeader("the lease is not ours (any more)")
        return self.left

    def there(self) -> dict[str, Any]:
        return self.world.do("GET", f"{PATH}/ours")

    def view(self) -> OverlayView:
        return parse(msgspec.convert(self.there(), OverlayWire), lambda why: pytest.fail(why))


@virtual
async def test_an_overlay_is_made_as_people_would_apply_it() -> None:
    acting = Acting()
    assert await acting.actuator.apply([WriteOverlay(WANTED)]) == [Done()]
    found = acting.there()
    assert found["spec"] == SPEC == manifest(WANTED)["spec"]
    assert found["metadata"]["labels"][names.LABEL_OVERLAY] == "memory"
    assert acting.view().subject is Subject.MEMORY


@virtual
async def test_a_change_sets_what_is_ours_and_leaves_what_others_added() -> None:
    """Somebody gave it a price; and an amount too many is taken away, since Karpenter would count on it."""
    acting = Acting()
    await acting.actuator.apply([WriteOverlay(WANTED)])
    body = {"metadata": {"annotations": {"a": "b"}}, "spec": {"price": "1.0", "weight": 3, "capacity": {"more": "1"}}}
    acting.world.do("PATCH", f"{PATH}/ours", body, content_type=MERGE)
    assert await acting.actuator.apply([WriteOverlay(WANTED, acting.view())]) == [Done()]
    found = acting.there()
    assert found["spec"] == {**SPEC, "price": "1.0"}
    assert found["metadata"]["annotations"] == {"a": "b"}


@virtual
async def test_a_change_against_an_older_version_is_stale() -> None:
    acting = Acting()
    await acting.actuator.apply([WriteOverlay(WANTED)])
    before = acting.view()
    acting.world.do("PATCH", f"{PATH}/ours", {"spec": {"weight": 3}}, content_type=MERGE)
    with pytest.raises(Stale):
        await acting.actuator.apply([WriteOverlay(WANTED, before)])
    assert acting.there()["spec"]["weight"] == 3


@virtual
async def test_one_that_somebody_made_meanwhile_is_stale_and_one_that_is_gone_is_lost() -> None:
    acting = Acting()
    await acting.actuator.apply([WriteOverlay(WANTED)])
    with pytest.raises(Stale):
        await acting.actuator.apply([WriteOverlay(WANTED)])
    before = acting.view()
    assert isinstance((await acting.actuator.apply([NOT_THERE_YET]))[0], Lost), "a namesake is left alone"
    assert acting.view() == before
    assert await acting.actuator.apply([RemoveOverlay("ours", before.uid)]) == [Done()]
    (lost,) = await acting.actuator.apply([RemoveOverlay("ours", before.uid)])
    assert isinstance(lost, Lost)
    (lost,) = await acting.actuator.apply([WriteOverlay(WANTED, before)])
    assert isinstance(lost, Lost)


@virtual
async def test_a_cluster_that_does_not_know_the_kind_says_so() -> None:
    with pytest.raises(Rejected, match="does not know the kind NodeOverlay"):
        await Acting(kind=False).actuator.apply([WriteOverlay(WANTED)])


@virtual
async def test_a_finding_is_one_event_on_the_overlay_however_often_it_is_told() -> None:
    acting = Acting()
    await acting.actuator.apply([WriteOverlay(WANTED)])
    finding = Finding(OverlayReason.CONFLICT, "ours", "it meets another one")
    for _ in range(2):
        await acting.actuator.tell(finding, acting.view())
    (event,) = acting.world.do("GET", "/api/v1/namespaces/default/events")["items"]
    about = event["involvedObject"]
    assert (about["kind"], about["name"], about["apiVersion"]) == ("NodeOverlay", "ours", "karpenter.sh/v1alpha1")
    assert (event["reason"], event["type"], event["message"]) == (
        "OverlayConflict",
        "Warning",
        "it meets another one",
    )


@virtual
async def test_nothing_is_written_by_who_does_not_lead() -> None:
    acting = Acting()
    acting.left = 0
    with pytest.raises(NotLeader):
        await acting.actuator.apply([WriteOverlay(WANTED)])
    with pytest.raises(NotLeader):
        await acting.actuator.tell(Finding(OverlayReason.CONFLICT, "ours", "x"), OverlayView("ours", "u"))
    assert acting.world.record.writes("ours") == []
