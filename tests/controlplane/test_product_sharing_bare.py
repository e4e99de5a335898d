"""The device plugin as most people install it first: does a node say that nothing there follows a label?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reconciler.model import names
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import PluggedNode
from tests.controlplane.kubelet import Machine
from tests.controlplane.product import Installation
from tests.controlplane.sharing_stage import CHART, STARTUP, offered, plugin_installed, sentence, taints, told
from tests.controlplane.waiting import eventually

SETTINGS = {"slicing.rules": json.dumps([{"replicas": 4}]), "probe.enabled": False}
BARE = replace(CHART, external="", configs=None)
"""The chart without `config.name`; the profiles are there all the same."""


@pytest.mark.timeout(180)
def test_a_plugin_without_config_manager_is_told_as_soon_as_its_pod_shows(
    control_plane: ControlPlane, installation: Installation
) -> None:
    """Long before `follow_within`: the pod's containers say it."""
    installation.forget()
    machine = Machine(taints=(STARTUP,), status_seconds=2)
    with (
        plugin_installed(control_plane, chart=BARE),
        installation.replica("one", SETTINGS) as one,
        PluggedNode(control_plane, "cause-bare", machine) as node,
    ):
        one.lead()
        kubelet = node.kubelet
        eventually(lambda: told(kubelet.node()) == "False/NoConfigManager", "the node says so", 40)
        assert "install the plugin's chart with config.name" in sentence(kubelet.node())
        eventually(lambda: offered(kubelet.node()) == "1", "whole GPUs are offered, and no pod may come to them", 40)
        assert taints(kubelet.node()) == [names.STARTUP_TAINT]
