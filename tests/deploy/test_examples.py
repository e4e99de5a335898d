"""deploy/examples: settings that the controller takes, and objects that fit each other and NVIDIA's charts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.kube import plugin_profile
from reconciler.model import names
from reconciler.model.sharing import Profile
from reconciler.settings import load
from reconciler.settings.effective import effective
from reconciler.settings.root import Settings
from tests.deploy.objects import EXAMPLES, ROOT, Object, examples, of_karpenter

SETTINGS = sorted(EXAMPLES.glob("*/settings.yaml"))
POOLS = [one for one in of_karpenter() if one.kind == "NodePool"]


def read(folder: str) -> Settings:
    return load.load({}, EXAMPLES / folder / "settings.yaml")


def template(pool: Object) -> dict[str, Any]:
    found: dict[str, Any] = pool.body["spec"]["template"]
    return found


def pods_for(pool: Object) -> dict[str, Any]:
    """The pod template of the Deployment that is named as the pool."""
    (deployment,) = [one for one in examples() if (one.kind, one.name) == ("Deployment", pool.name)]
    found: dict[str, Any] = deployment.body["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("file", SETTINGS, ids=lambda file: file.parent.name)
def test_the_controller_takes_the_settings(file: Path) -> None:
    """And something in them is a setting: an empty file would be taken as well."""
    rows = effective(read(file.parent.name))

    assert any(row.source.startswith("file ") for row in rows)


def test_the_rules_are_for_the_pools_that_are_there() -> None:
    settings = read("karpenter")

    assert {pool for rule in settings.slicing.rules for pool in rule.node_pools} == {pool.name for pool in POOLS}


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_a_pools_nodes_are_closed_until_they_are_what_they_should_be(pool: Object) -> None:
    spec = template(pool)["spec"]

    assert spec["startupTaints"] == [{"key": names.STARTUP_TAINT, "effect": "NoSchedule"}]
    assert (spec["nodeClassRef"]["kind"], spec["nodeClassRef"]["name"]) in {
        (one.kind, one.name) for one in of_karpenter()
    }


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_the_pools_pods_tolerate_its_taint_and_no_other_pools(pool: Object) -> None:
    (taint,) = template(pool)["spec"]["taints"]
    (toleration,) = pods_for(pool)["tolerations"]

    assert toleration == {**taint, "operator": "Equal"}
    assert len({template(one)["spec"]["taints"][0]["value"] for one in POOLS}) == len(POOLS)


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_nvidias_plugin_comes_to_the_pools_nodes(pool: Object) -> None:
    """By the label that its chart places it by, and past every taint that stands there from the start."""
    spec = template(pool)["spec"]
    values = yaml.safe_load((ROOT / "deploy" / "device-plugin" / "values-device-plugin.yaml").read_text())
    tolerated = {one["key"] for one in values["tolerations"]}

    assert template(pool)["metadata"]["labels"][names.GPU_PRESENT] == "true"
    assert {taint["key"] for taint in (*spec["taints"], *spec["startupTaints"])} <= tolerated


def test_development_is_on_spot_and_production_on_both() -> None:
    types = {
        pool.name: one["values"]
        for pool in POOLS
        for one in template(pool)["spec"]["requirements"]
        if one["key"] == names.KARPENTER_CAPACITY_TYPE
    }

    assert types == {"gpu-dev": ["spot"], "gpu-production": ["spot", "on-demand"]}


def test_starting_point_b_names_a_key_that_is_in_its_config_map_and_makes_four_of_a_gpu() -> None:
    settings = read("starting-point-b").slicing
    (found,) = [one for one in examples() if one.kind == "ConfigMap"]

    assert (found.namespace, found.name) == (settings.plugin_namespace, settings.config_map)
    assert [rule.profile for rule in settings.rules] == list(found.body["data"])
    assert plugin_profile.profile(found.body["data"]["any"]) == Profile(replicas=4)
    asked = [
        one.body["spec"]
        for one in examples()
        if one.kind == "Deployment" and one.file.parent.name == "starting-point-b"
    ]
    gpus = [
        spec["replicas"] * spec["template"]["spec"]["containers"][0]["resources"]["limits"][names.GPU_RESOURCE]
        for spec in asked
    ]
    assert sum(gpus) == 4
