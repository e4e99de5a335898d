"""What does a NodeOverlay do to what Karpenter believes, and what does it say of itself?

Seen with Karpenter 1.15.0.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import MERGE, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.evidence import events
from tests.controlplane.instance_types import G4DN
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.kwok import Kwok
from tests.controlplane.pods import pod_asking
from tests.controlplane.product import MEMORY
from tests.controlplane.waiting import eventually, never

Start = Callable[..., Karpenter[Kwok]]

GPU = "nvidia.com/gpu"
ASKS = {GPU: "1", MEMORY: "4Gi"}
TAKEN = {"Ready": ("True", "Ready", ""), "ValidationSucceeded": ("True", "ValidationSucceeded", "")}


def refused(reason: str, message: str) -> dict[str, tuple[str, str, str]]:
    """The conditions of an overlay that is not applied."""
    return {
        "Ready": ("False", "UnhealthyDependents", "ValidationSucceeded=False"),
        "ValidationSucceeded": ("False", reason, message),
    }


def pod_for(name: str, resources: dict[str, str], pool: str) -> Json:
    """A pod that only nodes of that NodePool may run."""
    pod = pod_asking(name, resources)
    pod["spec"]["nodeSelector"] = {objects.NODEPOOL: pool}
    return pod


def test_a_pod_that_asks_for_our_resource_gets_a_node_only_because_of_an_overlay(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """From zero, within seconds of the overlay; before it, the pod has an Event and the NodePool has none."""
    here = karpenter()
    pool = here.pool()
    pod = control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("asks", ASKS))
    ((reason, message),) = eventually(lambda: events(control_plane, pod), "Karpenter says why not", 20)
    assert reason == "FailedScheduling"
    assert message.startswith("Failed to schedule pod, no instance type has enough resources, requirements=")
    assert message.endswith(f'resources={{"{GPU}":"1","pods":"1","{MEMORY}":"4Gi"}}')
    assert "NoCompatibleInstanceTypes" not in {reason for reason, _ in events(control_plane, pool)}

    here.overlay("memory", {MEMORY: "14592Mi"}, requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    claim = here.claim()
    assert claim["spec"]["resources"]["requests"] == {**ASKS, "pods": "1"}
    assert claim["metadata"]["annotations"]["karpenter.sh/capacity-overlay-applied"] == "true"
    nominated = ("Nominated", f"Pod should schedule on: nodeclaim/{claim['metadata']['name']}")
    eventually(lambda: nominated in events(control_plane, pod), "the pod is told")


def test_with_the_feature_gate_off_an_overlay_is_kept_and_does_nothing(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """It has no status at all: that is how to tell, for nothing else says so. With the gate on it soon has one."""
    here = karpenter(overlays=False)
    here.pool()
    overlay = here.overlay("memory", {MEMORY: "14592Mi"})
    pod = control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("asks", ASKS))
    eventually(lambda: events(control_plane, pod), "Karpenter says why not", 20)
    never(here.claims, "nothing is bought", 3)
    assert "status" not in control_plane.api.get(overlay)
    here.restart(overlays=True)
    eventually(lambda: objects.conditions(control_plane.api.get(overlay)) == TAKEN, "the overlay is judged")
    here.claim()


def test_an_overlay_may_be_for_one_nodepool_and_replaces_the_number_of_gpus(
    control_plane: ControlPlane, namespace: str, karpenter: Start
) -> None:
    """karpenter.sh/nodepool works as a requirement. nvidia.com/gpu: "4" makes one GPU four, not five."""
    here = karpenter([G4DN])
    here.pool("sliced")
    here.pool("whole")
    here.overlay("four-slices", {GPU: "4"}, requirements=[(objects.NODEPOOL, "In", ["sliced"])])
    pods = f"/api/v1/namespaces/{namespace}/pods"
    too_much = [
        control_plane.api.post(pods, pod_for("five", {GPU: "5"}, "sliced")),
        control_plane.api.post(pods, pod_for("two", {GPU: "2"}, "whole")),
    ]
    control_plane.api.post(pods, pod_for("four", {GPU: "4"}, "sliced"))
    here.claim("sliced")
    eventually(lambda: all(events(control_plane, pod) for pod in too_much), "the others do not fit", 30)
    assert [claim["metadata"]["labels"][objects.NODEPOOL] for claim in here.claims()] == ["sliced"]


def test_of_two_overlays_of_equal_weight_the_later_name_wins_and_the_other_says_conflict(
    control_plane: ControlPlane, karpenter: Start
) -> None:
    """A conflict is the same resource on the same instance type in the same NodePool, even with the same value."""
    here = karpenter()
    here.pool("dev")
    here.pool("prod")
    api = control_plane.api
    first, second = here.overlay("a", {MEMORY: "1Gi"}), here.overlay("b", {MEMORY: "1Gi"})

    def says(path: str, wanted: dict[str, tuple[str, str, str]]) -> bool:
        return objects.conditions(api.get(path)) == wanted

    conflict = refused("Conflict", "conflict with another overlay")
    eventually(lambda: says(first, conflict) and says(second, TAKEN), "the later name wins")
    api.patch(first, {"spec": {"weight": 10}}, MERGE)
    eventually(lambda: says(first, TAKEN) and says(second, TAKEN), "another weight settles it")

    def only(pool: str) -> Json:
        return {"spec": {"weight": 10, "requirements": [{"key": objects.NODEPOOL, "operator": "In", "values": [pool]}]}}

    api.patch(first, only("dev"), MERGE)
    api.patch(second, only("prod"), MERGE)
    eventually(lambda: says(first, TAKEN) and says(second, TAKEN), "so do other NodePools")
    api.patch(second, only("dev"), MERGE)
    eventually(lambda: says(first, conflict), "and the same NodePool does not")
    api.delete(second)
    eventually(lambda: says(first, TAKEN), "with the other gone it is taken")


def test_an_overlay_that_can_never_work_is_refused_by_the_api(control_plane: ControlPlane, karpenter: Start) -> None:
    """The resources of every node, and labels that only a node has. What a provider forbids is said in the status."""
    here = karpenter()
    here.pool()
    everywhere = objects.node_overlay("memory", {"memory": "1Gi"})
    by_name = objects.node_overlay("host", {MEMORY: "1Gi"}, [("kubernetes.io/hostname", "Exists", [])])
    answers = [control_plane.api.request("POST", objects.OVERLAYS, one) for one in (everywhere, by_name)]
    assert [answer.status for answer in answers] == [422, 422]
    assert "invalid resource restricted" in answers[0].body["message"]
    assert 'label "kubernetes.io/hostname" is restricted' in answers[1].body["message"]
