"""What do the commands that end by themselves do to a real cluster, and what do their exit codes say?"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.product import G4DN, UNPROBED, Installation, memory
from tests.controlplane.waiting import eventually

UNPROBING = {"probe.enabled": False}
RIGHT = (UNPROBED, UNPROBED)


@pytest.fixture
def cluster(installation: Installation) -> Installation:
    """The product's manifests on the cluster, and no trace of earlier replicas."""
    installation.forget()
    return installation


@pytest.fixture
def unpatchable(control_plane: ControlPlane) -> Iterator[str]:
    """The path of a node whose status nobody may change: an admission policy of the cluster refuses it."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "unpatchable"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes/status"]}
                ]
            },
            "validations": [
                {
                    "expression": "object.metadata.name != 'unpatchable'",
                    "message": "nobody patches this node",
                    "reason": "Invalid",
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "unpatchable"},
        "spec": {"policyName": "unpatchable", "validationActions": ["Deny"]},
    }
    group = "/apis/admissionregistration.k8s.io/v1"
    with bare_node(control_plane, "unpatchable", labels=G4DN) as path:
        control_plane.api.post(f"{group}/validatingadmissionpolicies", policy)
        control_plane.api.post(f"{group}/validatingadmissionpolicybindings", binding)

        def refused() -> bool:
            trial = {"status": {"capacity": {"example.com/trial": "1"}}}
            answer = control_plane.api.request(
                "PATCH", f"{path}/status", trial, "application/merge-patch+json", dryRun="All"
            )
            return answer.status == 422

        try:
            eventually(refused, "the policy is in force")
            yield path
        finally:
            control_plane.api.delete(f"{group}/validatingadmissionpolicybindings/unpatchable")
            control_plane.api.delete(f"{group}/validatingadmissionpolicies/unpatchable")


def test_an_explanation_writes_nothing_and_a_pass_does_what_it_said(
    control_plane: ControlPlane, cluster: Installation
) -> None:
    """Not even the election's lease is touched by who only asks; the pass ends with 0."""
    with bare_node(control_plane, "passed", labels=G4DN) as path:
        explained = cluster.command("explain", "passed", "-o", "json", settings=UNPROBING)
        assert (explained.code, explained.writes()) == (0, [])
        told = json.loads(explained.output)
        assert (told["mib"], told["reason"]) == (UNPROBED, "Unverified")
        assert [action["kind"] for action in told["actions"]] == ["Announce", "Advertise"]
        assert memory(control_plane, path) == (None, None)

        done = cluster.command("once", settings=UNPROBING)
        assert done.code == 0, done.errors
        assert memory(control_plane, path) == RIGHT


def test_a_pass_that_could_not_patch_a_node_ends_with_1_and_names_it_and_does_the_others(
    control_plane: ControlPlane, cluster: Installation, unpatchable: str
) -> None:
    """Whatever keeps the node as it is; the reason is in the log."""
    with bare_node(control_plane, "patchable", labels=G4DN) as patchable:
        ran = cluster.command("once", settings=UNPROBING)
        assert ran.code == 1
        assert ran.errors.splitlines()[-1] == "not done: unpatchable; the lines above say why"
        assert "nobody patches this node" in ran.errors
        assert memory(control_plane, patchable) == RIGHT
        assert memory(control_plane, unpatchable) == (None, None)
