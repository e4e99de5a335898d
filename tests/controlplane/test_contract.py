"""Does the real control plane keep the contract that the sandbox is held to? The tests of `tests/contract`, on it.

Where the two differ, the sandbox is wrong.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import PluginScript
from tests.contract import (
    test_definitions,
    test_device_plugins,
    test_evictions,
    test_field_owners,
    test_jobs,
    test_kubelets,
    test_lists,
    test_objects,
    test_patches,
    test_quantities,
    test_scheduling,
    test_watches,
)
from tests.contract.world import SYNC, Answer, Json, World
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import DevicePlugin, PluggedNode
from tests.controlplane.kubelet import HollowKubelet, Machine

_number = itertools.count(1)

_MODULES = (
    test_definitions,
    test_device_plugins,
    test_evictions,
    test_field_owners,
    test_jobs,
    test_kubelets,
    test_lists,
    test_objects,
    test_patches,
    test_quantities,
    test_scheduling,
    test_watches,
)
for _module in _MODULES:
    _title = re.sub(r".*\.test_", "", _module.__name__)
    for _name, _value in vars(_module).items():
        if _name.startswith("test_"):
            globals()[f"test_{_title}__{_name.removeprefix('test_')}"] = _value

node = test_evictions.node  # a fixture of those tests


class HollowNode:
    """A node with a hollow kubelet."""

    def __init__(self, kubelet: HollowKubelet) -> None:
        self.name = kubelet.name
        self._kubelet = kubelet

    def restart(self, *, zeroes: bool) -> None:
        self._kubelet.restart(_machine(zeroes))


class PluggedHollowNode:
    """A node with a hollow kubelet and a device plugin's pod."""

    def __init__(self, node: PluggedNode) -> None:
        self.name = node.kubelet.name
        self._node = node

    def restart(self, *, zeroes: bool) -> None:
        assert not zeroes, "a node with a plugin has a checkpoint"
        self._node.restart()


def _machine(zeroes: bool, max_pods: int = 110) -> Machine:
    return Machine(zeroes_at_registration=zeroes, max_pods=max_pods, runs="sh", status_seconds=SYNC)


class RealWorld:
    """The shared control plane, in a namespace of its own."""

    def __init__(self, plane: ControlPlane, namespace: str, kubelets: ExitStack) -> None:
        self._plane = plane
        self._namespace = namespace
        self._kubelets = kubelets

    @property
    def namespace(self) -> str:
        return self._namespace

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json", **params: str
    ) -> Answer:
        answer = self._plane.api.request(method, path, body, content_type, **params)
        return Answer(answer.status, answer.body)

    def watch(self, path: str, seconds: int, *, until: str = "", **params: str) -> list[Json]:
        events = []
        for event in self._plane.api.watch(path, seconds + 1, **{**params, "timeoutSeconds": str(seconds)}):
            events.append(event)
            if event["type"] == until:
                break
        return events

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def kubelet(self, *, zeroes: bool = False, max_pods: int = 110) -> HollowNode:
        started = HollowKubelet(self._plane, f"contract-{next(_number)}", _machine(zeroes, max_pods))
        return HollowNode(self._kubelets.enter_context(started))

    def install(self, chart: PluginChart) -> None:
        self._kubelets.enter_context(DevicePlugin(self._plane, chart))

    def plugged(
        self, script: PluginScript, *, gpus: int = 1, labels: Mapping[str, str] | None = None
    ) -> PluggedHollowNode:
        machine = Machine(labels=labels or {}, runs="sh", status_seconds=SYNC)
        node = PluggedNode(self._plane, f"contract-{next(_number)}", machine, script, gpus=gpus)
        return PluggedHollowNode(self._kubelets.enter_context(node))


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str) -> Iterator[World]:
    """In place of the sandbox: the control plane of this run."""
    with ExitStack() as kubelets:
        yield RealWorld(control_plane, namespace, kubelets)
