"""The API server goes away, before the product starts and while it runs: is everything right once it is back?"""

from __future__ import annotations

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.product import G4DN, MEMORY, UNPROBED, Installation, memory
from tests.controlplane.waiting import eventually, never

RIGHT = (UNPROBED, UNPROBED)
SETTINGS = {"probe.enabled": False, "work.longest_retry": "5s"}
AWAY = 17.0
"""Seconds: longer than a lease lasts, and than the first retries. Hours of it are tried on virtual time."""


def test_an_api_server_that_is_away_at_start_and_later_is_waited_for(own_control_plane: ControlPlane) -> None:
    """The process lives on and says that it is not ready, and what happened meanwhile is put right afterwards."""
    plane = own_control_plane
    installation = Installation(plane).install()
    with bare_node(plane, "early", labels=G4DN) as early, installation.replica("one", SETTINGS) as one:
        one.may_be_refused = True
        plane.stop_apiserver()
        one.start()
        assert one.page("/healthz") == (200, "ok")
        status, why = one.page("/readyz")
        assert (status, "Node" in why) == (503, True)
        never(lambda: one.page("/readyz")[0] != 503 or one.leads(), "it is ready without having read anything", 2)

        plane.start_apiserver()
        eventually(lambda: memory(plane, early) == RIGHT, "the node that was there is advertised", 30)
        assert one.page("/readyz") == (200, "ok")
        told = one.page("/metrics")[1]
        assert 'gpu_reconciler_node_advertised_bytes{instance_type="g4dn.xlarge",node="early"' in told

        plane.stop_apiserver()
        never(lambda: one.page("/healthz")[0] != 200, "it does not live through the outage", AWAY, every=1)
        assert not one.leads()
        plane.start_apiserver()
        plane.api.patch(f"{early}/status", {"status": {"capacity": {MEMORY: "1Gi"}, "allocatable": {MEMORY: None}}})
        plane.api.post("/api/v1/nodes", {"metadata": {"name": "late", "labels": G4DN}})
        both = (early, "/api/v1/nodes/late")
        eventually(lambda: [memory(plane, path) for path in both] == [RIGHT, RIGHT], "both nodes are right", 30)
        assert one.leads()
