"""Does a real Karpenter scale from zero because of what the product tells it, and is the product's word kept?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.controlplane import karpenter_objects as objects
from tests.controlplane.api import MERGE, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.karpenter_aws import Aws
from tests.controlplane.kubelet import Machine
from tests.controlplane.kwok import Kwok
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.product import MEMORY, UNPROBED, Installation, memory, reason
from tests.controlplane.replica import Replica
from tests.controlplane.sharing_stage import profiles_shipped
from tests.controlplane.waiting import eventually, never

Start = Callable[..., Karpenter[Kwok]]
StartAws = Callable[..., Karpenter[Aws]]
Replicas = Callable[..., Replica]

GPU = "nvidia.com/gpu"
ASKS = {GPU: "1", MEMORY: f"{UNPROBED}Mi"}
"""All that a g4dn.xlarge is promised to have: more would not fit, less would hide a promise that is too large."""
WRITES = {"karpenter.overlays": "write", "probe.enabled": False}
OURS = "gpu-reconciler.io/overlay"
T4 = f"{objects.OVERLAYS}/gpu-reconciler-memory-{UNPROBED}mi"
READY = ("True", "ValidationSucceeded", "")
SEES = 40.0
"""Seconds until the product has seen that a kind is there: it looks every 30 (kube/watch.py, Pace)."""

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def profiles(control_plane: ControlPlane) -> Iterator[None]:
    """The ConfigMap of the device plugin as we ship it, and the right to read it."""
    with profiles_shipped(control_plane):
        yield


def running(plane: ControlPlane, pods: str, name: str) -> bool:
    return bool(plane.api.get(f"{pods}/{name}")["status"]["phase"] == "Running")


def ours(plane: ControlPlane) -> dict[str, Json]:
    """Our overlays by name."""
    found = plane.api.get(objects.OVERLAYS, labelSelector=OURS)["items"]
    return {one["metadata"]["name"]: one for one in found}


def told(plane: ControlPlane, overlay: str) -> set[str]:
    """Reasons of Events on this overlay, and not on a namesake of another test."""
    found = plane.api.get("/api/v1/namespaces/default/events")["items"]
    uid = plane.api.get(overlay)["metadata"]["uid"]
    return {one["reason"] for one in found if one["involvedObject"].get("uid") == uid}


def judged(plane: ControlPlane, overlay: str) -> tuple[str, str, str] | None:
    """What Karpenter says of the overlay; None also while there is none."""
    found = plane.api.request("GET", overlay)
    return objects.condition(found.body, "ValidationSucceeded") if found.status == 200 else None


def test_a_pod_gets_its_first_node_only_because_of_our_overlays_and_all_that_it_was_promised(
    control_plane: ControlPlane, namespace: str, pods: str, karpenter: Start, replica: Replicas
) -> None:
    """From zero to a running pod; the claim is initialized and consistent; with the NodePool the overlays go."""
    api, here = control_plane.api, karpenter()
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge", "g5.xlarge"])])
    api.post(pods, pod_asking("asks", ASKS))
    never(here.claims, "Karpenter bought a node that it thought the pod would not fit on", 4)

    one = replica("one", WRITES).lead()
    claim = here.claim(seconds=SEES)
    assert set(ours(control_plane)) == {f"gpu-reconciler-memory-{UNPROBED}mi", "gpu-reconciler-memory-21743mi"}
    assert claim["status"]["capacity"][MEMORY] == f"{UNPROBED}Mi"
    path = f"/api/v1/nodes/{here.node(claim)['metadata']['name']}"
    eventually(lambda: running(control_plane, pods, "asks"), "the pod runs on it", 40)
    assert memory(control_plane, path) == (UNPROBED, UNPROBED)
    assert reason(control_plane, path) == "Unverified"
    eventually(lambda: (here.told(claim, "Initialized") or ("",))[0] == "True", "the claim is initialized", 30)
    here.restart()  # it looks at each claim anew
    eventually(lambda: (here.told(claim, "ConsistentStateFound") or ("",))[0] == "True", "the node is as promised", 30)
    assert len(here.claims()) == 1

    writes = len([call for call in one.writes() if call.resource == "nodeoverlays"])
    assert writes == 2, "one for each value"
    api.delete(f"{pods}/asks", gracePeriodSeconds=0)
    api.delete(f"{objects.POOLS}/dev")
    eventually(lambda: not ours(control_plane), "the overlays go with the NodePool", 20)


def test_an_overlay_that_karpenter_refuses_for_another_one_is_told_and_left_to_people(
    control_plane: ControlPlane, karpenter: Start, replica: Replicas
) -> None:
    """The other asks for a label that only Karpenter knows of the type, so it cannot be stepped back from."""
    here = karpenter()
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    theirs = here.overlay(
        "z-theirs", {MEMORY: "1Gi"}, requirements=[("karpenter.kwok.sh/instance-cpu", "In", ["4"])], weight=10
    )
    one = replica("one", WRITES).lead()
    lost = ("False", "Conflict", "conflict with another overlay")
    eventually(lambda: judged(control_plane, T4) == lost, "Karpenter refuses ours", SEES)
    eventually(lambda: "OverlayConflict" in told(control_plane, T4), "it is told on the overlay", 30)
    assert "OverlayConflict" in one.page("/metrics")[1]
    assert judged(control_plane, theirs) == READY
    before = control_plane.api.get(theirs)["metadata"]["generation"]
    control_plane.api.delete(theirs)
    eventually(lambda: judged(control_plane, T4) == READY, "ours counts once nothing is in its way", 20)
    assert before == 1, "theirs was never touched"


def test_an_overlay_of_the_same_weight_keeps_its_type_and_ours_keeps_the_others(
    control_plane: ControlPlane, karpenter: Start, replica: Replicas
) -> None:
    here = karpenter()
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge", "g5.xlarge"])])
    theirs = here.overlay(
        "z-theirs", {MEMORY: "1Gi"}, requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])], weight=10
    )
    replica("one", WRITES).lead()
    a10g = f"{objects.OVERLAYS}/gpu-reconciler-memory-21743mi"
    eventually(lambda: judged(control_plane, a10g) == READY, "ours for the other type counts", SEES)
    assert (judged(control_plane, theirs), len(ours(control_plane))) == (READY, 1)
    control_plane.api.patch(theirs, {"spec": {"weight": 9}}, MERGE)
    eventually(lambda: judged(control_plane, T4) == READY, "ours comes where it does no harm", 20)
    assert judged(control_plane, theirs) == READY


def test_a_feature_gate_that_is_off_is_told_on_the_overlay(
    control_plane: ControlPlane, karpenter: Start, replica: Replicas
) -> None:
    here = karpenter(overlays=False)
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    replica("one", {**WRITES, "karpenter.overlay_silence": "5s"}).lead()
    eventually(lambda: ours(control_plane), "our overlay is there", SEES)
    eventually(lambda: told(control_plane, T4) == {"OverlaysIgnored"}, "Karpenter's silence is told", 30)
    assert judged(control_plane, T4) is None
    here.restart(overlays=True)
    eventually(lambda: judged(control_plane, T4) == READY, "the same overlay counts once the gate is on", 30)


def test_pods_that_share_a_gpu_get_one_node_and_not_one_each(
    control_plane: ControlPlane, namespace: str, pods: str, profiles: None, karpenter: Start, replica: Replicas
) -> None:
    """Four slices by a rule for the NodePool; the machine's plugin offers four, as its profile says."""

    def sliced(claim: Json, machine: Machine) -> Machine:
        return replace(machine, devices={GPU: "4"})

    here = karpenter(dresses=sliced)
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    rules = json.dumps([{"node_pools": ["dev"], "replicas": 4}])
    replica("one", {**WRITES, "karpenter.overlay_slices": True, "slicing.rules": rules}).lead()
    gpus = f"{objects.OVERLAYS}/gpu-reconciler-gpus-4-in-dev"
    eventually(lambda: judged(control_plane, gpus) == READY, "the slices are told", SEES)
    for number in range(4):
        control_plane.api.post(pods, pod_asking(f"slice-{number}", {GPU: "1"}))
    claim = here.claim()
    assert claim["status"]["capacity"][GPU] == "4"
    names = [f"slice-{number}" for number in range(4)]
    eventually(lambda: all(running(control_plane, pods, name) for name in names), "all four run", 60)
    assert len(here.claims()) == 1


def test_the_commands_manifests_can_be_applied_as_they_are(
    control_plane: ControlPlane, karpenter: Start, installation: Installation
) -> None:
    """For those who own them in Git: applied, judged, and nothing is left to change."""
    here = karpenter()
    here.pool("dev", requirements=[(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])])
    command = installation.command
    printed = command("overlays", "-o", "yaml")
    assert printed.code == 0, printed.errors
    control_plane.kubectl("apply", "-f", "-", text=printed.output)
    eventually(lambda: judged(control_plane, T4) == READY, "Karpenter takes them", 20)
    again = command("overlays", "-o", "json")
    assert (json.loads(again.output)["changes"], again.writes()) == ([], [])


def test_the_real_karpenter_for_aws_scales_from_zero_by_our_overlays(
    control_plane: ControlPlane, namespace: str, pods: str, karpenter_aws: StartAws, replica: Replicas
) -> None:
    """EC2NodeClass to instance to node, on a mocked AWS that the product asks about the type, too."""
    here = karpenter_aws(["g4dn"])
    here.pool(
        "dev",
        requirements=[
            ("karpenter.k8s.aws/instance-family", "In", ["g4dn"]),
            ("karpenter.k8s.aws/instance-gpu-count", "Lt", ["2"]),
            (objects.CAPACITY_TYPE, "In", ["spot", "on-demand"]),
        ],
    )
    control_plane.api.post(pods, pod_asking("asks", ASKS))
    asks_aws = {"aws.enabled": True, "aws.endpoint_url": here.cloud.url}
    replica("one", {**WRITES, **asks_aws}).lead()
    claim = here.claim(seconds=SEES + 30)
    assert claim["status"]["capacity"][MEMORY] == f"{UNPROBED}Mi"
    path = f"/api/v1/nodes/{here.node(claim)['metadata']['name']}"
    eventually(lambda: running(control_plane, pods, "asks"), "the pod runs", 60)
    assert memory(control_plane, path) == (UNPROBED, UNPROBED)
    eventually(lambda: (here.told(claim, "Initialized") or ("",))[0] == "True", "the claim is initialized", 30)
    assert phase_and_reason(control_plane, namespace, "asks") == ("Running", None)
    assert len(here.claims()) == 1
