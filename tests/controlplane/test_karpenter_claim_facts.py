"""What does Karpenter do with a node whose pods ask for a resource that only somebody else can put there?

Seen with Karpenter 1.15.0.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import MERGE, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.evidence import events, writers_of_label
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.kwok import Kwok
from tests.controlplane.nodes import advertise
from tests.controlplane.pods import deployment, pod_asking
from tests.controlplane.product import MEMORY
from tests.controlplane.waiting import eventually

Start = Callable[..., Karpenter[Kwok]]

GPU = "nvidia.com/gpu"
ASKS = {GPU: "1", MEMORY: "4Gi"}


def test_a_claim_is_initialized_only_once_the_resource_is_in_the_allocatable_of_its_node(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """Until then its condition names the resource, and its node is open for pods: only the label is missing.

    Whatever the kubelet did not register with, Karpenter writes in one patch as it registers the node: the labels of
    the NodePool's template and its own. On AWS the former are the kubelet's (see test_karpenter_aws_facts.py).
    """
    here = karpenter()
    here.pool(labels={"team": "vision"})
    here.overlay("memory", {MEMORY: "14592Mi"})
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("asks", ASKS))
    claim = here.claim(told="Registered")
    wanted = ("Unknown", "ResourceNotRegistered", f'Resource "{MEMORY}" was requested but not registered')
    eventually(lambda: here.told(claim, "Initialized") == wanted, "the claim waits for the resource", 40)
    assert here.told(claim, "Ready") == ("Unknown", "ReconcilingDependents", "Initialized=Unknown")
    node = here.node(claim)
    assert MEMORY not in node["status"]["allocatable"]
    assert node["metadata"]["labels"][objects.REGISTERED] == "true"
    assert objects.INITIALIZED not in node["metadata"]["labels"]
    assert "taints" not in node["spec"]

    advertise(control_plane, node["metadata"]["name"], MEMORY, "14592Mi")
    eventually(lambda: here.holds(claim, "Initialized"), "the claim is initialized", 30)
    node = here.node(claim)
    labels = ("team", objects.NODEPOOL, objects.CAPACITY_TYPE, objects.REGISTERED, objects.INITIALIZED)
    assert {label: writers_of_label(node, label) for label in labels} == {label: {"karpenter"} for label in labels}
    assert writers_of_label(node, objects.INSTANCE_TYPE) == {"kubelet"}


def test_a_node_with_less_than_nine_tenths_of_what_was_expected_is_called_inconsistent(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """ConsistentStateFound is looked at ten minutes after the launch, every ten minutes, and after Karpenter's restart.

    The first look is at the launch, when there is no node: it leaves the condition unset. What is expected is the
    NodeClaim's status.capacity: with this pretended cloud what the pods asked for, with AWS what the overlay said.
    """
    here = karpenter()
    here.pool()
    here.overlay("memory", {MEMORY: "14592Mi"})
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("asks", ASKS))
    claim = here.claim(told="Registered")
    name = here.node(claim)["metadata"]["name"]
    advertise(control_plane, name, MEMORY, "3Gi")
    eventually(lambda: here.holds(claim, "Initialized"), "any amount initializes the claim", 40)
    assert here.told(claim, "ConsistentStateFound") is None

    here.restart()
    wanted = ("False", "ConsistencyCheckFailed", "Consistency Check Failed")
    eventually(lambda: here.told(claim, "ConsistentStateFound") == wanted, "it is inconsistent", 30)
    said = f"expected 4Gi of resource {MEMORY}, but found 3Gi (75.0% of expected)"
    eventually(lambda: ("FailedConsistencyCheck", said) in events(control_plane, claim), "an Event has the numbers")

    advertise(control_plane, name, MEMORY, "3800Mi")
    here.restart()
    wanted = ("True", "ConsistentStateFound", "")
    eventually(lambda: here.told(claim, "ConsistentStateFound") == wanted, "above nine tenths it is consistent", 30)


def test_a_node_that_is_consolidated_is_tainted_drained_and_gone_with_its_machine(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """karpenter.sh/disrupted:NoSchedule is there until the end; an empty node is gone about 25 s after its last pod."""
    here = karpenter()
    here.pool(consolidate_after="0s")
    here.overlay("memory", {MEMORY: "14592Mi"})
    deployments = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    control_plane.api.post(deployments, deployment("asks", 1, ASKS))
    claim = here.claim(told="Registered")
    name = here.node(claim)["metadata"]["name"]
    advertise(control_plane, name, MEMORY, "14592Mi")
    path = f"{deployments}/asks"
    eventually(lambda: control_plane.api.get(path)["status"].get("readyReplicas") == 1, "the pod runs", 40)
    assert here.holds(claim, "Initialized")
    assert list(here.fleet.kubelets) == [claim["metadata"]["name"]]

    control_plane.api.patch(f"{path}/scale", {"spec": {"replicas": 0}}, MERGE)
    taints: list[Json] = []

    def gone() -> bool:
        answer = control_plane.api.request("GET", f"/api/v1/nodes/{name}")
        taints.extend(answer.body.get("spec", {}).get("taints", []))
        return answer.status == 404

    eventually(gone, "the node is consolidated away", 90)
    eventually(lambda: not here.claims() and not here.fleet.kubelets, "so are its claim and its machine")
    assert {(one["key"], one["effect"]) for one in taints} == {("karpenter.sh/disrupted", "NoSchedule")}
