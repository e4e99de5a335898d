"""The device plugin does not follow, on real kubelet code and real pods: does the node say why, and who?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from reconciler.model import names
from reconciler.sandbox.plugin_script import PluginScript
from tests.controlplane import history
from tests.controlplane.api import STRATEGIC, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import DevicePlugin, PluggedNode
from tests.controlplane.kubelet import Machine
from tests.controlplane.product import Installation
from tests.controlplane.sharing_stage import (
    NAMESPACE,
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
    {"name": "many", "labels": {"team": "many"}, "replicas": 40},
    {"name": "dev", "replicas": 4},
]
SETTINGS = {
    "slicing.rules": json.dumps(RULES),
    "slicing.restart_plugin": True,
    "slicing.follow_within": "12s",
    "probe.enabled": False,
}
LATE = 60.0
"""Seconds for what needs `follow_within`, or a kubelet's patience with a container."""

NOTHING = "False/NoGPUsOffered"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def plugin(installation: Installation, control_plane: ControlPlane) -> Iterator[DevicePlugin]:
    """NVIDIA's chart with our values, and the controller at work; the nodes of all these tests are its own."""
    installation.forget()
    with plugin_installed(control_plane, restart_plugin=True) as plugin, installation.replica("one", SETTINGS) as one:
        one.lead()
        yield plugin


def machine(team: str = "dev", **labels: str) -> Machine:
    """A g4dn.xlarge that no pod may come to before it is ready."""
    plain = Machine(taints=(STARTUP,), status_seconds=2)
    return replace(plain, labels={**plain.labels, "team": team, **labels})


def pods(plugin: DevicePlugin, node: str) -> list[Json]:
    """The plugin's on that node."""
    return [pod for pod in plugin.pods() if pod["spec"].get("nodeName") == node]


@pytest.mark.usefixtures("plugin")
def test_a_key_that_is_not_there_is_named_and_never_chosen(control_plane: ControlPlane) -> None:
    with PluggedNode(control_plane, "cause-key", machine("many")) as node:
        kubelet = node.kubelet
        eventually(lambda: told(kubelet.node()) == "False/ProfileMissing", "the node says so")
        assert "ts-40" in sentence(kubelet.node())
        eventually(lambda: offered(kubelet.node()) == "1", "the plugin offers what it does without a label", LATE)
        assert (profile(kubelet.node()), taints(kubelet.node())) == (None, [names.STARTUP_TAINT])


def test_a_config_manager_that_crashes_is_told_by_the_kubelets_own_word(
    control_plane: ControlPlane, plugin: DevicePlugin
) -> None:
    script = PluginScript(config_manager_error="error creating symlink: file exists")
    with PluggedNode(control_plane, "cause-crash", machine(), script) as node:
        kubelet = node.kubelet
        eventually(lambda: told(kubelet.node()) == "False/ConfigManagerFailing", "the node says so", LATE)
        eventually(lambda: "CrashLoopBackOff" in sentence(kubelet.node()), "by the kubelet's word", LATE)
        (pod,) = pods(plugin, kubelet.name)
        assert f"{NAMESPACE}/{pod['metadata']['name']}" in sentence(kubelet.node())
        assert (profile(kubelet.node()), taints(kubelet.node())) == ("ts-4", [names.STARTUP_TAINT])


def test_a_plugin_that_lost_its_race_is_restarted_and_its_next_pod_is_right(
    control_plane: ControlPlane, plugin: DevicePlugin
) -> None:
    """k8s-device-plugin 1645: ready, and nothing offered. Once by policy; the DaemonSet makes the next pod."""
    start = history.now(control_plane)
    with PluggedNode(control_plane, "cause-race", machine(), PluginScript(lost_races=1)) as node:
        kubelet = node.kubelet
        (lost,) = eventually(lambda: pods(plugin, kubelet.name), "the plugin's pod comes", LATE)
        eventually(lambda: told(kubelet.node()) == "True/Sliced", "the next pod is right", LATE)
        said = [sentence(one) for one in history.versions(control_plane, kubelet.path, start) if told(one) == NOTHING]
        assert said
        assert all("1645" in one for one in said)
        (found,) = pods(plugin, kubelet.name)
        assert found["metadata"]["uid"] != lost["metadata"]["uid"]
        eventually(lambda: not taints(kubelet.node()), "the node is opened")
        assert offered(kubelet.node()) == "4"


@pytest.mark.usefixtures("plugin")
def test_whoever_writes_over_our_label_twice_wins_and_is_named_by_his_field_manager(
    control_plane: ControlPlane,
) -> None:
    with PluggedNode(control_plane, "cause-revert", machine()) as node:
        kubelet = node.kubelet
        for _ in range(2):
            eventually(lambda: profile(kubelet.node()) == "ts-4", "the label is ours", LATE)
            theirs = {"metadata": {"labels": {names.PLUGIN_CONFIG: "ts-2"}}}
            control_plane.api.patch(kubelet.path, theirs, STRATEGIC, fieldManager="mutineer")
        eventually(lambda: told(kubelet.node()) == "False/Reverted", "the node says so", LATE)
        assert sentence(kubelet.node()).startswith("mutineer wrote over our label")
        never(lambda: profile(kubelet.node()) != "ts-2", "we stopped", 3)
        eventually(lambda: not taints(kubelet.node()), "who is left alone is not held back")


@pytest.mark.usefixtures("plugin")
def test_a_label_that_came_with_the_node_is_left_and_whoever_brought_it_is_named(control_plane: ControlPlane) -> None:
    with PluggedNode(control_plane, "cause-foreign", machine(**{names.PLUGIN_CONFIG: "ts-2"})) as node:
        kubelet = node.kubelet
        eventually(lambda: told(kubelet.node()) == "False/ForeignLabel", "the node says so", LATE)
        assert f"kubelet set the label {names.PLUGIN_CONFIG}=ts-2" in sentence(kubelet.node())
        eventually(lambda: not taints(kubelet.node()), "who is left alone is not held back")
        assert profile(kubelet.node()) == "ts-2"
