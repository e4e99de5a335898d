"""Does the product follow Karpenter's NodeClaims, and the coming and going of their kind, without a restart?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.aws import ec2_double
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.product import MEMORY, memory, reason
from tests.controlplane.replica import NAMESPACE, Replica
from tests.controlplane.waiting import eventually, never

Replicas = Callable[..., Replica]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
LOOKS_EVERY = 30.0
"""Seconds between two looks for a kind that is not there (kube/watch.py, Pace)."""

NODE_CLAIM: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "nodeclaims.karpenter.sh"},
    "spec": {
        "group": "karpenter.sh",
        "scope": "Cluster",
        "names": {"kind": "NodeClaim", "plural": "nodeclaims", "singular": "nodeclaim", "listKind": "NodeClaimList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture
def ec2() -> Iterator[ec2_double.Double]:
    """An EC2 that knows every type that it is asked for, each with one T4 of 16384 MiB."""

    def answer(request: ec2_double.Request) -> ec2_double.Answer:
        return ec2_double.gpu_types(*request.values("InstanceType"))

    with ec2_double.serving(answer) as double:
        yield double


@pytest.fixture
def node_claims(control_plane: ControlPlane) -> Iterator[Callable[[bool], None]]:
    """Bring or take away the kind NodeClaim; it is away before and after the test."""
    crd = f"{CRDS}/{NODE_CLAIM['metadata']['name']}"

    def bring(there: bool) -> None:
        if there:
            control_plane.api.post(CRDS, NODE_CLAIM)
        else:
            control_plane.api.delete(crd)
        wanted = 200 if there else 404
        eventually(lambda: control_plane.api.request("GET", CLAIMS).status == wanted, "the kind has come or gone")

    yield bring
    bring(False)


def claim(name: str, kind: str) -> Json:
    """A NodeClaim that Karpenter has chosen a type for."""
    labels = {"node.kubernetes.io/instance-type": kind}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name, "labels": labels}}


def test_the_type_of_a_claim_is_asked_for_before_its_node_exists_and_the_kind_may_come_and_go(
    control_plane: ControlPlane, replica: Replicas, node_claims: Callable[[bool], None], ec2: ec2_double.Double
) -> None:
    """Types that only EC2 knows: once asked for a claim, the node's first patch waits for nobody."""
    one = replica("one", {"probe.enabled": False, "aws.enabled": True, "aws.endpoint_url": ec2.url}).lead()

    def asked() -> list[str]:
        return [kind for request in ec2.requests for kind in request.values("InstanceType")]

    def catalog() -> set[str]:
        found = control_plane.api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/gpu-reconciler-catalog")
        return set(found.body.get("data", {}))

    node_claims(True)
    control_plane.api.post(CLAIMS, claim("early", "g98.xlarge"))
    eventually(lambda: "g98.xlarge" in asked(), "the claim's type is asked for", LOOKS_EVERY + 10)
    control_plane.api.post(CLAIMS, claim("next", "g99.xlarge"))
    eventually(lambda: "g99.xlarge" in asked(), "a further claim is seen at once", 5)
    eventually(lambda: any("g99.xlarge" in key for key in catalog()), "the answer is kept")

    ec2.rule = ec2_double.always(None)
    with bare_node(control_plane, "of-claim", labels={"node.kubernetes.io/instance-type": "g99.xlarge"}) as path:
        eventually(lambda: memory(control_plane, path)[1], "the node is advertised by what EC2 said before", 5)
        assert reason(control_plane, path) == "Unverified"

        node_claims(False)
        troubles = [line for line in one.said() if line["event"] == "trouble"]
        never(
            lambda: len([line for line in one.said() if line["event"] == "trouble"]) > len(troubles) + 2,
            "it cannot let go of a kind that is gone",
            5,
        )
        value = memory(control_plane, path)
        control_plane.api.patch(f"{path}/status", {"status": {"capacity": {MEMORY: "1Mi"}}})
        eventually(lambda: memory(control_plane, path) == value, "nodes are looked after as before")
    assert one.page("/readyz") == (200, "ok")
