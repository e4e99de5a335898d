"""The manifests are what Kubernetes takes, and fit together."""

from collections import Counter
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deploy.objects import MANIFESTS, SHARING, Object, examples, manifests, only, sharing

ALL = manifests()
OPTIONAL = sharing("restart-plugin.yaml")
OLDEST = "1.29"
"""The oldest minor that we promise."""
VERSIONS = (OLDEST, "1.33", "1.36", kubernetes_validate.latest_version())
NAMESPACE = "gpu-reconciler"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("one", [*ALL, *OPTIONAL, *examples()], ids=str)
def test_kubernetes_schema_takes_it(one: Object, version: str) -> None:
    """Strictly: a misspelt field is a fault, not something to pass over."""
    kubernetes_validate.validate(one.body, version, strict=True)


def test_a_misspelt_field_would_be_seen() -> None:
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}, "automont": False}
    with pytest.raises(kubernetes_validate.ValidationError, match="automont"):
        kubernetes_validate.validate(body, OLDEST, strict=True)


def test_every_manifest_is_applied() -> None:
    files = {file.name for file in MANIFESTS.glob("*.yaml")} - {"kustomization.yaml"}
    assert {one.file.name for one in ALL} == files
    optional = {file.name for file in SHARING.glob("*.yaml")} - {"kustomization.yaml"}
    assert {one.file.name for one in OPTIONAL} == optional


def test_no_object_is_there_twice() -> None:
    assert [
        key for key, count in Counter((one.kind, one.namespace, one.name) for one in ALL).items() if count > 1
    ] == []


def test_everything_lies_in_our_namespace_but_the_rights_on_events() -> None:
    namespaced = [one for one in ALL if one.kind not in ("Namespace", "ClusterRole", "ClusterRoleBinding")]
    assert {str(one) for one in namespaced if one.namespace != NAMESPACE} == {
        "Role/gpu-reconciler-events",
        "RoleBinding/gpu-reconciler-events",
    }
    assert only("Namespace").name == NAMESPACE


def test_bindings_name_roles_and_accounts_that_are_there() -> None:
    there = {(one.kind, one.namespace, one.name) for one in (*ALL, *OPTIONAL)}
    for binding in (one for one in (*ALL, *OPTIONAL) if one.kind.endswith("Binding")):
        role = binding.body["roleRef"]
        home = binding.namespace if role["kind"] == "Role" else None
        assert (role["kind"], home, role["name"]) in there
        for subject in binding.body["subjects"]:
            assert (subject["kind"], subject["namespace"], subject["name"]) in there


def test_the_rights_for_sharing_lie_in_the_plugins_namespace_alone() -> None:
    """One line moves them all: kustomize's `namespace`, which leaves the bindings' accounts where they are."""
    namespace = yaml.safe_load((SHARING / "kustomization.yaml").read_text())["namespace"]
    assert {one.namespace for one in OPTIONAL} == {namespace}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("PodDisruptionBudget", "gpu-reconciler"),
        ("Service", "gpu-reconciler-metrics"),
        ("Deployment", "gpu-reconciler"),
    ],
)
def test_selectors_choose_the_deployments_pods(kind: str, name: str) -> None:
    labels = only("Deployment").body["spec"]["template"]["metadata"]["labels"]
    selector = only(kind, name).body["spec"]["selector"]
    assert (selector.get("matchLabels", selector)).items() <= labels.items()


def test_the_namespace_admits_the_probes_host_path_and_says_why() -> None:
    labels = only("Namespace").body["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert "hostPath" in (MANIFESTS / "namespace.yaml").read_text()


def test_the_probes_image_follows_the_controllers() -> None:
    """One change under `images:` reaches the Deployment and, by the replacement, the probe's setting."""
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
    (image,) = kustomization["images"]
    (replacement,) = kustomization["replacements"]
    (target,) = replacement["targets"]
    container = "spec.template.spec.containers.[name=controller]"
    assert replacement["source"]["fieldPath"] == f"{container}.image"
    assert target["fieldPaths"] == [f"{container}.env.[name=GPU_RECONCILER_PROBE__IMAGE].value"]
    (found,) = only("Deployment").body["spec"]["template"]["spec"]["containers"]
    values = {variable["name"]: variable.get("value") for variable in found["env"]}
    assert found["name"] == "controller"
    assert found["image"] == f"{image['name']}:{image['newTag']}" == values["GPU_RECONCILER_PROBE__IMAGE"]
