"""A node at work is to be sliced: does the switch wait for its pods, and does no new pod come in between?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reconciler.model import names
from tests.controlplane import history
from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import PluggedNode
from tests.controlplane.kubelet import Machine
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.product import Installation
from tests.controlplane.sharing_stage import (
    GPU,
    STARTUP,
    offered,
    plugin_installed,
    profile,
    sentence,
    taints,
    told,
)
from tests.controlplane.waiting import eventually, never

RULES = [
    {"labels": {"team": "production"}, "sharing": "exclusive"},
    {"labels": {"team": "dev"}, "replicas": 4},
]
SETTINGS = {"slicing.rules": json.dumps(RULES), "slicing.later": "idle", "probe.enabled": False}


def fenced(node: Json) -> bool:
    return names.FENCE_TAINT in taints(node)


@pytest.mark.timeout(180)
def test_a_switch_waits_for_pods_and_a_fence_keeps_new_ones_away_until_it_is_over(
    control_plane: ControlPlane, installation: Installation, namespace: str
) -> None:
    """Whole GPU with a pod on it; told to be sliced; the pod ends: fence, label, four slots, no fence, next pod."""
    installation.forget()
    pods = f"/api/v1/namespaces/{namespace}/pods"
    plain = Machine(taints=(STARTUP,), status_seconds=2)
    machine = replace(plain, labels={**plain.labels, "team": "production"})
    with (
        plugin_installed(control_plane),
        installation.replica("one", SETTINGS) as one,
        PluggedNode(control_plane, "switched", machine) as node,
    ):
        one.lead()
        kubelet = node.kubelet
        control_plane.api.post(pods, pod_asking("works", {GPU: "1"}))
        eventually(lambda: phase_and_reason(control_plane, namespace, "works")[0] == "Running", "it works", 60)
        assert (told(kubelet.node()), profile(kubelet.node())) == ("True/Exclusive", "exclusive")

        start = history.now(control_plane)
        control_plane.kubectl("label", "node", kubelet.name, "team=dev", "--overwrite")
        eventually(lambda: told(kubelet.node()) == "False/InUse", "the switch waits")
        assert "when they have ended" in sentence(kubelet.node())
        never(lambda: fenced(kubelet.node()) or profile(kubelet.node()) != "exclusive", "it is left alone", 3)

        control_plane.api.delete(f"{pods}/works", gracePeriodSeconds=0)
        eventually(lambda: fenced(kubelet.node()), "the fence comes")
        control_plane.api.post(pods, pod_asking("meanwhile", {GPU: "1"}))
        eventually(lambda: phase_and_reason(control_plane, namespace, "meanwhile")[0] == "Running", "it comes", 60)

        found = history.versions(control_plane, kubelet.path, start)
        fence = next(int(one["metadata"]["resourceVersion"]) for one in found if fenced(one))
        labelled = history.since(found, lambda one: profile(one) == "ts-4")
        sliced = history.since(found, lambda one: told(one) == "True/Sliced" and offered(one) == "4")
        unfenced = history.since(found, lambda one: not fenced(one))
        waits = history.versions(control_plane, f"{pods}/meanwhile", start)
        created = int(waits[0]["metadata"]["resourceVersion"])
        bound = history.since(waits, lambda one: "nodeName" in one["spec"])
        assert fence < created < labelled < sliced < unfenced < bound
        assert taints(kubelet.node()) == []
