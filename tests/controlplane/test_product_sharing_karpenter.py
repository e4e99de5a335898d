"""A real Karpenter buys machines that the product slices: one for four pods, told where it waits, left once it goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.model import names
from reconciler.model.reasons import ClaimReason
from reconciler.sandbox.plugin_script import PluginScript
from tests.controlplane import karpenter_objects as objects
from tests.controlplane.audit import Call
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.evidence import events
from tests.controlplane.instance_types import G4DN, InstanceType
from tests.controlplane.karpenter import Karpenter
from tests.controlplane.kwok import Kwok
from tests.controlplane.pods import deployment, pod_asking
from tests.controlplane.product import MEMORY, UNPROBED, Installation, memory
from tests.controlplane.replica import Replica
from tests.controlplane.sharing_stage import (
    GPU,
    offered,
    plugging,
    plugin_installed,
    profile,
    sentence,
    taints,
    told,
)
from tests.controlplane.waiting import eventually

Start = Callable[..., Karpenter[Kwok]]
Replicas = Callable[..., Replica]

ASKS = {GPU: "1", MEMORY: f"{UNPROBED // 4}Mi"}
STARTUP = {"key": names.STARTUP_TAINT, "effect": "NoSchedule"}
RULES = [
    {"name": "whole", "node_pools": ["slow"], "labels": {"team": "whole"}, "sharing": "exclusive"},
    {"name": "dev", "replicas": 4},
]
SETTINGS = {
    "slicing.rules": json.dumps(RULES),
    "slicing.follow_within": "20s",
    "karpenter.overlays": "write",
    "karpenter.overlay_slices": True,
    "karpenter.uninitialized_after": "1m",
    "probe.enabled": False,
}
G4DN_BY_OVERLAY = replace(G4DN, devices={})
"""All its GPUs are known by overlays alone: where this cloud knows some itself, its NodeClaims stay at that number.

kwok/cloudprovider: `Allocatable: lo.Assign(requests, instanceType.Allocatable())`. Of AWS it is the overlay's.
"""
NOT_INITIALIZED = ClaimReason.NOT_INITIALIZED.value
ONE_TYPE = [(objects.INSTANCE_TYPE, "In", ["g4dn.xlarge"])]

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def sold() -> InstanceType:
    """The one type that there is to buy."""
    return G4DN_BY_OVERLAY


@pytest.fixture
def here(control_plane: ControlPlane, karpenter: Start, sold: InstanceType) -> Iterator[Karpenter[Kwok]]:
    """Karpenter, whose machines have a plugin: in NodePool `broken` it never offers a GPU, in `slow` it is slow."""
    scripts = {"broken": PluginScript(lost_races=9), "slow": PluginScript(switch_seconds=90)}
    with plugging(control_plane, scripts) as dresses, plugin_installed(control_plane):
        yield karpenter([sold], dresses=dresses)


@pytest.fixture
def one(here: Karpenter[Kwok], installation: Installation) -> Iterator[Replica]:
    """The controller, gone before Karpenter and its kinds go."""
    installation.forget()
    with installation.replica("one", SETTINGS) as replica:
        yield replica.lead()


def running(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """The pods that run, with their nodes."""
    found = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if one["status"]["phase"] == "Running"}


def judged(plane: ControlPlane) -> set[str]:
    """The overlays that Karpenter goes by."""
    found = plane.api.get(objects.OVERLAYS)["items"]
    return {
        one["metadata"]["name"]
        for one in found
        if (objects.condition(one, "ValidationSucceeded") or ("",))[0] == "True"
    }


def test_four_pods_of_a_slice_and_a_quarter_of_the_memory_share_the_one_node_that_is_bought_for_them(
    control_plane: ControlPlane, namespace: str, here: Karpenter[Kwok], one: Replica
) -> None:
    """From zero, by our overlays; behind the startup taint; initialized, and as Karpenter planned it."""
    here.pool("dev", requirements=ONE_TYPE, startup_taints=[STARTUP])
    wanted = {f"gpu-reconciler-memory-{UNPROBED}mi", "gpu-reconciler-gpus-4-in-dev"}

    def overlays() -> bool:
        found = judged(control_plane)
        assert found == wanted, found
        return True

    eventually(overlays, "memory and slices are told", 40)
    control_plane.api.post(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("slices", 4, ASKS))

    claim = here.claim(told="Registered")
    eventually(lambda: len(running(control_plane, namespace)) == 4, "all four run", 90)
    node = here.node(claim)
    name = node["metadata"]["name"]
    assert set(running(control_plane, namespace).values()) == {name}
    assert (told(node), profile(node), offered(node), taints(node)) == ("True/Sliced", "ts-4", "4", [])
    assert memory(control_plane, f"/api/v1/nodes/{name}") == (UNPROBED, UNPROBED)
    eventually(lambda: here.holds(claim, "Initialized"), "the claim is initialized", 30)
    assert (here.told(claim, "ConsistentStateFound") or ("Unknown",))[0] != "False"
    here.restart()  # it looks at each claim anew
    eventually(lambda: here.holds(claim, "ConsistentStateFound"), "the node is as promised", 30)
    assert len(here.claims()) == 1


def test_a_claim_that_waits_for_slices_is_reported_with_the_cause_and_a_label_of_its_template_is_left(
    control_plane: ControlPlane, namespace: str, here: Karpenter[Kwok], one: Replica
) -> None:
    """The one pool's plugin offers nothing, so its startup taint stays; the other pool labels its nodes itself."""
    here.pool("broken", requirements=ONE_TYPE, startup_taints=[STARTUP])
    here.pool("owned", requirements=ONE_TYPE, startup_taints=[STARTUP], labels={names.PLUGIN_CONFIG: "ts-2"})
    memory_told = f"gpu-reconciler-memory-{UNPROBED}mi"
    eventually(lambda: memory_told in judged(control_plane), "memory is told", 40)
    for pool in ("broken", "owned"):
        pod = pod_asking(pool, ASKS)
        pod["spec"]["nodeSelector"] = {objects.NODEPOOL: pool}
        control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod)

    owned = here.claim("owned", told="Registered")
    eventually(lambda: told(here.node(owned)) == "False/ForeignLabel", "the template's label is left", 40)
    by_template = f"the template of its NodePool set the label {names.PLUGIN_CONFIG}=ts-2"
    assert sentence(here.node(owned)).startswith(by_template)
    eventually(lambda: "owned" in running(control_plane, namespace), "who is left alone is not held back", 40)

    broken = here.claim("broken", told="Registered")
    eventually(lambda: told(here.node(broken)) == "False/NoGPUsOffered", "the node says so", 60)
    registered = here.node(broken)

    def report() -> str | None:
        return dict(events(control_plane, registered, "gpu-reconciler")).get(NOT_INITIALIZED)

    said = eventually(report, "the claim that waits is reported", 80)
    assert said.startswith(f"NodeClaim {broken['metadata']['name']} is not initialized, so Karpenter will not")
    assert "the startup taint stays until the device plugin offers 4 nvidia.com/gpu" in said
    assert "1645" in said
    waited = datetime.now(UTC) - datetime.fromisoformat(registered["metadata"]["creationTimestamp"])
    assert waited >= timedelta(minutes=1)
    assert (here.told(broken, "Initialized") or ("", ""))[1] == "StartupTaintsExist"
    assert running(control_plane, namespace) == {"owned": here.node(owned)["metadata"]["name"]}


@pytest.mark.parametrize("sold", [G4DN], ids=["g4dn"])
def test_a_node_that_karpenter_disrupts_in_the_middle_of_its_switch_is_left_from_that_moment(
    control_plane: ControlPlane, namespace: str, here: Karpenter[Kwok], one: Replica
) -> None:
    """Its last pod ends, so it is switched, and empty: the label is written, the plugin slow, and the taint comes."""
    api = control_plane.api
    here.pool("slow", requirements=ONE_TYPE, startup_taints=[STARTUP], labels={"team": "whole"}, consolidate_after="5s")
    eventually(lambda: f"gpu-reconciler-memory-{UNPROBED}mi" in judged(control_plane), "memory is told", 40)
    api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("works", ASKS))
    claim = here.claim(told="Registered")
    eventually(lambda: here.holds(claim, "Initialized"), "the claim is initialized", 60)
    eventually(lambda: "works" in running(control_plane, namespace), "the pod works", 30)
    name = here.node(claim)["metadata"]["name"]
    assert (told(here.node(claim)), profile(here.node(claim))) == ("True/Exclusive", "exclusive")

    control_plane.kubectl("label", "node", name, "team=dev", "--overwrite")
    eventually(lambda: told(here.node(claim)) == "False/InUse", "the switch waits")
    api.delete(f"/api/v1/namespaces/{namespace}/pods/works", gracePeriodSeconds=0)
    eventually(lambda: profile(here.node(claim)) == "ts-4", "the label is written", 30)
    assert told(here.node(claim)) == "False/Switching"
    eventually(lambda: api.request("GET", f"/api/v1/nodes/{name}").status == 404, "the node is consolidated away", 90)

    tainted = min(call.at for call in control_plane.audit("karpenter") if disrupts(call, name))
    ours = [call for call in one.writes() if name in call.uri or name in str(call.body)]
    assert ours[-1].at - tainted < timedelta(seconds=1), [call for call in ours if call.at > tainted]
    assert any(names.PLUGIN_CONFIG in str(call.body) for call in ours if call.at < tainted)
    assert [call for call in ours if call.status >= 400 and call.at > tainted] == []
    assert one.idle()
    assert [line for line in one.said() if line["level"] != "info"] == [], "nothing went wrong, and nothing was retried"


def disrupts(call: Call, node: str) -> bool:
    """Whether Karpenter put its taint on the node by that call."""
    taints_written = str((call.body or {}).get("spec", {}).get("taints", ""))
    return call.resource == "nodes" and call.name == node and names.KARPENTER_DISRUPTED_TAINT in taints_written
