"""What does a real kubelet do with a resource that it does not own?

The capacity decision rests on each of these answers; where a Kubernetes version changes one, this is where it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.waiting import eventually, never

MEMORY = "veriff.com/gpu-memory"
QUICK = Machine(status_seconds=2)
Kubelets = Callable[..., HollowKubelet]


def advertise(plane: ControlPlane, kubelet: HollowKubelet, **quantities: str | None) -> None:
    """Patch `capacity=` and `allocatable=` of our resource; None removes it."""
    plane.api.patch(f"{kubelet.path}/status", {"status": {key: {MEMORY: value} for key, value in quantities.items()}})


def test_capacity_alone_is_copied_to_allocatable_by_the_kubelet(
    control_plane: ControlPlane, hollow_kubelet: Kubelets
) -> None:
    """The recipe of starting point A works, within a kubelet's sync of 10 s."""
    kubelet = hollow_kubelet()
    advertise(control_plane, kubelet, capacity="15079Mi")
    assert kubelet.allocatable(MEMORY) is None
    eventually(lambda: kubelet.allocatable(MEMORY) == "15079Mi", "the kubelet copies capacity to allocatable", 15)


def test_capacity_and_allocatable_together_are_schedulable_at_once_and_stay(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, namespace: str
) -> None:
    """No kubelet has to agree before a pod is bound, and none objects afterwards."""
    kubelet = hollow_kubelet(QUICK)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    control_plane.api.post(pods, pod_asking("early", {MEMORY: "104Mi"}))
    advertise(control_plane, kubelet, capacity="15079Mi", allocatable="15079Mi")
    eventually(lambda: control_plane.api.get(f"{pods}/early")["spec"].get("nodeName"), "the pod is bound", 5)
    eventually(lambda: phase_and_reason(control_plane, namespace, "early")[0] == "Running", "the pod runs", 20)
    never(lambda: kubelet.allocatable(MEMORY) != "15079Mi", "the kubelet changed allocatable", 5)


def test_allocatable_lower_than_capacity_is_raised_back(control_plane: ControlPlane, hollow_kubelet: Kubelets) -> None:
    """A safety margin has to be taken off capacity itself."""
    kubelet = hollow_kubelet(QUICK)
    advertise(control_plane, kubelet, capacity="15079Mi", allocatable="14000Mi")
    eventually(lambda: kubelet.allocatable(MEMORY) == "15079Mi", "the kubelet raises allocatable", 15)


def test_allocatable_alone_is_deleted_by_the_kubelet(control_plane: ControlPlane, hollow_kubelet: Kubelets) -> None:
    """There is no way to advertise less than nothing: capacity comes first."""
    kubelet = hollow_kubelet(QUICK)
    advertise(control_plane, kubelet, allocatable="14000Mi")
    eventually(lambda: kubelet.allocatable(MEMORY) is None, "the kubelet deletes allocatable", 15)


def test_a_resource_removed_from_both_stays_removed(control_plane: ControlPlane, hollow_kubelet: Kubelets) -> None:
    """Withdrawing is removing, and no kubelet brings the resource back from its memory."""
    kubelet = hollow_kubelet(QUICK)
    advertise(control_plane, kubelet, capacity="15079Mi", allocatable="15079Mi")
    eventually(lambda: kubelet.allocatable(MEMORY) == "15079Mi", "the resource is there")
    advertise(control_plane, kubelet, capacity=None, allocatable=None)
    never(lambda: kubelet.capacity(MEMORY) or kubelet.allocatable(MEMORY), "the resource came back", 5)


@pytest.mark.parametrize(
    ("zeroes", "after"), [(True, "0"), (False, "15079Mi")], ids=["without-checkpoint", "with-checkpoint"]
)
def test_a_restarted_kubelet_zeroes_the_resource_only_without_a_device_checkpoint(
    zeroes: bool, after: str, control_plane: ControlPlane, hollow_kubelet: Kubelets
) -> None:
    """Zeroed means present with "0" in both maps, not absent; and it stays so until somebody heals it."""
    kubelet = hollow_kubelet(replace(QUICK, zeroes_at_registration=zeroes))
    advertise(control_plane, kubelet, capacity="15079Mi", allocatable="15079Mi")
    kubelet.restart()
    eventually(lambda: (kubelet.capacity(MEMORY), kubelet.allocatable(MEMORY)) == (after, after), f"both are {after}")
    never(lambda: kubelet.capacity(MEMORY) != after, "the value changed again", 3)
    assert kubelet.capacity("nvidia.com/gpu") == "1"


@pytest.mark.parametrize(
    ("capacity", "outcome"),
    [(None, ("Running", None)), ("0", ("Failed", f"OutOf{MEMORY}"))],
    ids=["absent", "zero"],
)
def test_a_kubelet_admits_a_pod_where_the_resource_is_absent_and_refuses_it_where_it_is_zero(
    capacity: str | None,
    outcome: tuple[str, str | None],
    control_plane: ControlPlane,
    hollow_kubelet: Kubelets,
    namespace: str,
) -> None:
    """Pods bound past the scheduler show what the kubelet's own admission does: removing is kinder than zeroing."""
    kubelet = hollow_kubelet(QUICK)
    advertise(control_plane, kubelet, capacity=capacity, allocatable=capacity)
    pod: Json = pod_asking("bound", {MEMORY: "104Mi"}, node=kubelet.name)
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod)
    eventually(
        lambda: phase_and_reason(control_plane, namespace, "bound")[0] in ("Running", "Failed"), "the kubelet decides"
    )
    assert phase_and_reason(control_plane, namespace, "bound") == outcome
