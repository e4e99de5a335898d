"""What does the real Karpenter for AWS do with an overlay of ours, from the pod to the end of the instance?

Seen with Karpenter for AWS 1.15.0 on a mocked AWS.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.controlplane import karpenter_objects as objects
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.evidence import writers_of_label
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.karpenter_aws import Aws
from tests.controlplane.moto_aws import Shortage
from tests.controlplane.nodes import advertise
from tests.controlplane.pods import pod_asking
from tests.controlplane.product import MEMORY
from tests.controlplane.waiting import eventually

Start = Callable[..., Karpenter[Aws]]

HOLD = {"key": "example.com/hold", "effect": "NoSchedule"}
GPU_MEMORY = "karpenter.k8s.aws/instance-gpu-memory"


@pytest.mark.timeout(240)  # two servers have to start, and a node has to be drained
def test_from_a_pod_that_asks_for_our_resource_to_an_instance_and_back(
    control_plane: ControlPlane, namespace: str, karpenter_aws: Start
) -> None:
    """An instance where there is capacity, a node with the labels of both sides, Initialized; a spot notice ends it.

    The overlay's value is in the NodeClaim's capacity and allocatable. Labels of the NodePool's template, its name
    and the capacity type are in the user data, so the kubelet owns them; Karpenter adds those of the instance (GPU
    memory in MiB, for one) only as it registers the node. Startup taints are the kubelet's too, and Karpenter does
    not add them again (label karpenter.sh/do-not-sync-taints).
    """
    here = karpenter_aws(["g4dn"])
    here.cloud.run_out(Shortage("spot", "eu-west-1a"))
    here.pool(labels={"team": "vision"}, startup_taints=[HOLD])
    here.overlay("memory", {MEMORY: "14592Mi"}, requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    forbidden = here.overlay("network", {"vpc.amazonaws.com/efa": "1"})
    wanted = ("False", "RuntimeValidation", "invalid capacity: vpc.amazonaws.com/efa in resource, restricted")
    verdict = "ValidationSucceeded"
    eventually(lambda: objects.condition(control_plane.api.get(forbidden), verdict) == wanted, "EFA is not ours to add")
    asks = {"nvidia.com/gpu": "1", MEMORY: "4Gi"}
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("asks", asks))

    claim = here.claim(told="Registered", seconds=60)
    assert claim["metadata"]["annotations"]["karpenter.sh/capacity-overlay-applied"] == "true"
    assert {claim["status"][field][MEMORY] for field in ("capacity", "allocatable")} == {"14592Mi"}
    node = here.node(claim)
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    labels = node["metadata"]["labels"]
    assert (labels[objects.CAPACITY_TYPE], labels[objects.ZONE]) == ("spot", "eu-west-1b")
    assert labels[GPU_MEMORY] == "16384"
    for label in ("team", objects.NODEPOOL, objects.CAPACITY_TYPE, "karpenter.sh/do-not-sync-taints"):
        assert writers_of_label(node, label) == {"kubelet"}, label
    assert writers_of_label(node, GPU_MEMORY) == writers_of_label(node, objects.REGISTERED) == {"karpenter"}

    wanted = ("Unknown", "StartupTaintsExist", 'StartupTaint "example.com/hold:NoSchedule" still exists')
    eventually(lambda: here.told(claim, "Initialized") == wanted, "the claim waits for the startup taint", 40)
    assert control_plane.api.get(path)["spec"]["taints"] == [HOLD]
    control_plane.api.patch(path, {"spec": {"taints": None}})
    wanted = ("Unknown", "ResourceNotRegistered", f'Resource "{MEMORY}" was requested but not registered')
    eventually(lambda: here.told(claim, "Initialized") == wanted, "then for the resource", 40)
    advertise(control_plane, node["metadata"]["name"], MEMORY, "14592Mi")
    eventually(lambda: here.holds(claim, "Initialized"), "the claim is initialized", 40)

    here.fleet.hold()  # the instance that comes instead shall stay out of the story
    here.cloud.interrupt(claim)

    def disrupted() -> bool:
        taints = control_plane.api.get(path)["spec"].get("taints", [])
        return ("karpenter.sh/disrupted", "NoSchedule") in [(one["key"], one["effect"]) for one in taints]

    eventually(disrupted, "the node is tainted", 20)
    eventually(lambda: control_plane.api.request("GET", path).status == 404, "the node is gone", 60)
    name = claim["metadata"]["name"]
    eventually(lambda: name not in here.fleet.kubelets, "the machine is off")
    eventually(lambda: name not in [one["metadata"]["name"] for one in here.claims()], "the claim is gone")
