"""Can the other tests trust what the harness tells them about identities and calls?"""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import bare_node
from tests.controlplane.process import Died, Process
from tests.controlplane.waiting import eventually


def test_a_service_account_has_its_own_rights_and_its_calls_are_told_apart(
    control_plane: ControlPlane, namespace: str
) -> None:
    """RBAC is on, and the audit log has who, what, the answer and the body of a write."""
    user = f"system:serviceaccount:{namespace}:default"
    api = control_plane.api_as(control_plane.token_for_service_account(namespace, "default"), "some-program/1")
    with bare_node(control_plane, "audited") as path:
        body = {"status": {"capacity": {"veriff.com/gpu-memory": "1Gi"}}}
        assert api.request("PATCH", f"{path}/status", body, "application/merge-patch+json").status == 403
        (refused,) = eventually(lambda: control_plane.audit(user), "the call is in the audit log")
        told = (refused.verb, refused.resource, refused.name, refused.status, refused.user_agent, refused.body)
        assert told == ("patch", "nodes/status", "audited", 403, "some-program/1", None)

        control_plane.api.patch(f"{path}/status", body)
        list(control_plane.api.watch(path.rpartition("/")[0], seconds=1))
        wanted = [("patch", 200, body), ("watch", 200, None)]

        def last_two() -> list[tuple[str, int, object]]:
            return [(call.verb, call.status, call.body) for call in control_plane.audit("controlplane-admin")[-2:]]

        eventually(lambda: last_two() == wanted, "the admin's calls are in the audit log with their bodies")


def test_kubectl_speaks_with_a_kubeconfig_of_the_harness(control_plane: ControlPlane, namespace: str) -> None:
    """The admin's by default; a service account's has no more than that account's rights."""
    assert json.loads(control_plane.kubectl("get", "namespace", namespace, "-o", "json"))["kind"] == "Namespace"
    kubeconfig = control_plane.kubeconfig_for_service_account(namespace, "default")
    kubectl = control_plane.programs.path("kubectl")
    refused = subprocess.run(
        [kubectl, f"--kubeconfig={kubeconfig}", "get", "nodes"], capture_output=True, text=True, check=False
    )
    assert "Forbidden" in refused.stderr


def test_a_program_that_dies_is_told_with_the_end_of_its_log(control_plane: ControlPlane) -> None:
    """Not by a time-out half a minute later."""
    with Process([control_plane.programs.path("etcd"), "--nonsense"], control_plane.folder / "dies.log") as process:

        def dead() -> bool:
            try:
                process.check()
            except Died as death:
                return "nonsense" in str(death)
            return False

        eventually(dead, "its death is told")
    with pytest.raises(Died):
        process.check()
