"""What may the ServiceAccount of the shipped manifests do, by the word of a real API server?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.controlplane.api import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.product import Installation
from tests.controlplane.replica import NAMESPACE, USER
from tests.deploy.forbidden_verbs import FORBIDDEN
from tests.deploy.needed_verbs import NEEDED
from tests.deploy.objects import MANIFESTS
from tests.deploy.rights import Attempt

GROUPS = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]


def allowed(plane: ControlPlane, attempts: tuple[Attempt, ...], user: str = USER) -> list[str]:
    """Those that the account may do."""

    def asked(attempt: Attempt) -> bool:
        resource, _, subresource = attempt.resource.partition("/")
        attributes: Json = {"verb": attempt.verb, "group": attempt.group, "resource": resource}
        attributes |= {"subresource": subresource, "namespace": attempt.namespace or "", "name": attempt.name or ""}
        review: Json = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": GROUPS, "resourceAttributes": attributes},
        }
        answer = plane.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    with ThreadPoolExecutor(4) as several:
        return [str(attempt) for attempt, yes in zip(attempts, several.map(asked, attempts), strict=True) if yes]


@pytest.mark.usefixtures("installation")
def test_the_controllers_account_may_do_all_that_it_needs_and_nothing_that_is_forbidden(
    control_plane: ControlPlane,
) -> None:
    """The same lists as the manifests' own test, judged by Kubernetes itself."""
    assert allowed(control_plane, NEEDED) == [str(attempt) for attempt in NEEDED]
    assert allowed(control_plane, FORBIDDEN) == []


@pytest.mark.usefixtures("installation")
def test_the_probes_account_may_do_nothing(control_plane: ControlPlane) -> None:
    """Not even what the controller may."""
    assert allowed(control_plane, NEEDED, f"system:serviceaccount:{NAMESPACE}:gpu-reconciler-probe") == []


def test_kubernetes_takes_the_manifests_as_they_are(control_plane: ControlPlane, installation: Installation) -> None:
    """Deployment included, which no other test applies: no field of theirs is unknown or dropped."""
    done = installation.plane.kubectl(
        "apply", "-k", str(MANIFESTS), "--dry-run=server", "--validate=strict", "--warnings-as-errors"
    )
    assert "deployment.apps/gpu-reconciler created (server dry run)" in done
