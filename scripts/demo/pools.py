"""Which NodePools are there, how do their nodes share, and what runs on them? The examples, at the demo's size."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from reconciler.kube.shipped_profiles import contents
from reconciler.model import names
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import NODECLAIMS, NODEOVERLAYS, NODEPOOLS
from reconciler.sandbox.plugin_chart import PluginChart

DEPLOY = Path(__file__).parents[2] / "deploy"
DEV, PRODUCTION = "gpu-dev", "gpu-production"
SLOTS = 4
"""How often a GPU shows in DEV."""
POD_MIB = 2048
"""What each pod of sharing.yaml asks for, beside a slot."""

POOLS: Mapping[str, Sequence[str]] = {DEV: ("g4dn.xlarge", "g5.xlarge"), PRODUCTION: ("g5.xlarge",)}
"""The instance types of each NodePool; the example's own have more."""

SETTINGS: Mapping[str, str] = {
    "GPU_RECONCILER_SLICING__RULES": json.dumps(
        [
            {"name": "dev", "node_pools": [DEV], "replicas": SLOTS},
            {"name": "production", "node_pools": [PRODUCTION], "sharing": "exclusive"},
        ]
    ),
    "GPU_RECONCILER_KARPENTER__OVERLAYS": "write",
    "GPU_RECONCILER_KARPENTER__OVERLAY_SLICES": "true",
    # Real plugins are given two and three minutes; those of the demo need two seconds.
    "GPU_RECONCILER_SLICING__MOUNTED_AFTER": "1s",
    "GPU_RECONCILER_SLICING__FOLLOW_WITHIN": "5s",
}
"""Beside those of starting point A."""

KARPENTER = (NODECLAIMS, NODEPOOLS, NODEOVERLAYS)
"""Karpenter's kinds. Karpenter itself does not run: the demo's hand brings the nodes."""

PROFILES = contents()
"""The plugin's ConfigMap, as deploy/device-plugin has it."""


def chart() -> PluginChart:
    """NVIDIA's chart, with our values for it."""
    values = yaml.safe_load((DEPLOY / "device-plugin" / "values-device-plugin.yaml").read_text())
    config = values["config"]
    return PluginChart(external=config["name"], default=config["default"], tolerations=tuple(values["tolerations"]))


def node_pool(name: str) -> Json:
    """The example's NodePool of that name, for the types of POOLS only."""
    pool: Json = yaml.safe_load((DEPLOY / "examples" / "karpenter" / f"nodepool-{name[4:]}.yaml").read_text())
    only = {"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": list(POOLS[name])}
    pool["spec"]["template"]["spec"]["requirements"].append(only)
    return pool


def deployments() -> Sequence[Json]:
    """Pods that ask for a slot and for memory: five in DEV, two in PRODUCTION."""
    return list(yaml.safe_load_all(Path(__file__).with_name("sharing.yaml").read_text()))
