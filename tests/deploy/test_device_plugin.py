"""deploy/device-plugin: the profiles that we ship, and values by which NVIDIA's charts use them."""

from typing import Any

import kubernetes_validate
import pytest
import yaml

from reconciler.kube import shipped_profiles
from reconciler.model import names
from reconciler.model.policy import SlicingPolicy
from tests.deploy.objects import ROOT
from tests.deploy.test_manifests import VERSIONS

FOLDER = ROOT / "deploy" / "device-plugin"
NAMESPACE, NAME = SlicingPolicy().config_map.split("/")


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return document


def tolerated(tolerations: list[dict[str, str]]) -> set[str]:
    return {one["key"] for one in tolerations if one["operator"] == "Exists"}


def test_the_file_is_what_the_command_prints() -> None:
    assert (FOLDER / "gpu-profiles.yaml").read_text() == shipped_profiles.manifest(NAMESPACE, NAME), "run scripts/docs"


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_schema_takes_it(version: str) -> None:
    kubernetes_validate.validate(read("gpu-profiles.yaml"), version, strict=True)


def test_it_is_applied_into_the_plugins_namespace_under_the_name_that_our_settings_have() -> None:
    kustomization = read("kustomization.yaml")

    assert kustomization["resources"] == ["gpu-profiles.yaml"]
    assert kustomization["namespace"] == NAMESPACE == read("gpu-profiles.yaml")["metadata"]["namespace"]


@pytest.mark.parametrize("chart", ["device-plugin", "gpu-operator"])
def test_the_charts_use_it_and_have_a_default_that_is_in_it(chart: str) -> None:
    """A node without the label gets no plugin otherwise: no key is called `default`, and there is more than one."""
    values = read(f"values-{chart}.yaml")
    config = values["config"] if chart == "device-plugin" else values["devicePlugin"]["config"]

    assert config == {"name": NAME, "default": "exclusive"}
    assert config["default"] in shipped_profiles.contents()


def test_the_plugin_comes_to_nodes_that_wait_for_it_or_are_fenced() -> None:
    """The startup taint goes when the plugin offers its GPUs: neither may wait for the other."""
    ours = {names.STARTUP_TAINT, names.FENCE_TAINT}
    operator = read("values-gpu-operator.yaml")

    assert ours <= tolerated(read("values-device-plugin.yaml")["tolerations"])
    assert ours <= tolerated(operator["daemonsets"]["tolerations"])
    assert names.STARTUP_TAINT in tolerated(operator["node-feature-discovery"]["worker"]["tolerations"])
