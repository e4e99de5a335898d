"""What is written on a node that is sliced, and is the rest of it the same, byte for byte?"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model import names
from tests.controlplane import node_diff
from tests.controlplane.api import JSON_PATCH, STRATEGIC
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import PluggedNode
from tests.controlplane.node_diff import Path as Field
from tests.controlplane.product import MEMORY, Installation, g4dn_with_driver
from tests.controlplane.sharing_stage import GPU, STARTUP, offered, plugin_installed, taints
from tests.controlplane.waiting import eventually

RULES = json.dumps([{"name": "dev", "labels": {"team": "vision"}, "replicas": 4}])
US = "gpu-reconciler"


def _fields(*paths: str) -> frozenset[Field]:
    """`a / b / c`: names have dots and slashes of their own."""
    return frozenset(tuple(path.split(" / ")) for path in paths)


TAINTS: Field = ("spec", "taints")
"""To the API server one field, whatever is in it."""

OURS = _fields(
    f"metadata / labels / {names.PLUGIN_CONFIG}",
    *(f"metadata / labels / {label}" for label in names.OUR_LABELS),
    f"metadata / annotations / {names.RECORD}",
    f"metadata / annotations / {names.SHARING_RECORD}",
    f"status / capacity / {MEMORY}",
    f"status / allocatable / {MEMORY}",
    *(
        f"status / conditions / {kind} / {field}"
        for kind in (names.CONDITION, names.SHARING_CONDITION)
        for field in ("type", "status", "reason", "message", "lastHeartbeatTime", "lastTransitionTime")
    ),
)
REMOVED = _fields(*(f"spec / taints / {names.STARTUP_TAINT} / {field}" for field in ("key", "effect")))
THE_PLUGINS = _fields(f"status / capacity / {GPU}", f"status / allocatable / {GPU}")
"""What the kubelet writes because the device plugin has followed the label."""


def the_kubelets_own(path: Field) -> bool:
    """What any kubelet writes whenever it posts its status, and for each image that it has pulled."""
    return (path[:2] == ("status", "conditions") and path[3] == "lastHeartbeatTime") or path[:2] == ("status", "images")


THEIR_LABELS = {"example.com/rack": "r7", "gpu-reconciler.example.com/like-ours": "no"}
THEIR_NOTES = {"example.com/note": '{"keep": [1, 2]}'}
THEIR_TAINT = {"key": "example.com/dedicated", "value": "vision", "effect": "NoSchedule"}
THEIR_AMOUNTS = {"example.com/fpga": "2"}
THEIR_CONDITION = {"type": "ExampleHealthy", "status": "True", "reason": "AllWell", "message": 'as "ever"'}


def put_by_others(plane: ControlPlane, path: str) -> None:
    """All kinds of things that people and other programs keep on nodes; their taint stands before our own."""
    as_them = {"fieldManager": "platform-team"}
    plane.api.patch(path, {"metadata": {"labels": THEIR_LABELS, "annotations": THEIR_NOTES}}, STRATEGIC, **as_them)
    plane.api.patch(path, [{"op": "add", "path": "/spec/taints/0", "value": THEIR_TAINT}], JSON_PATCH, **as_them)
    status = {"capacity": THEIR_AMOUNTS, "allocatable": THEIR_AMOUNTS, "conditions": [THEIR_CONDITION]}
    plane.api.patch(f"{path}/status", {"status": status}, STRATEGIC, **as_them)


@pytest.mark.timeout(180)
def test_what_we_write_on_a_node_is_this_and_the_rest_is_the_same_byte_for_byte(
    control_plane: ControlPlane, installation: Installation, tmp_path: Path
) -> None:
    installation.forget()
    plain = g4dn_with_driver(tmp_path, taints=(STARTUP,))
    machine = replace(plain, labels={**plain.labels, "team": "vision"})
    with (
        plugin_installed(control_plane),
        PluggedNode(control_plane, "sliced-diff", machine) as node,
    ):
        kubelet = node.kubelet
        eventually(lambda: offered(kubelet.node()) == "1", "the plugin offers its GPU", 60)
        put_by_others(control_plane, kubelet.path)
        eventually(lambda: kubelet.allocatable("example.com/fpga") == "2", "the kubelet knows theirs", 20)
        before = kubelet.node()
        with installation.replica("one", {"slicing.rules": RULES}) as one:
            one.lead()
            eventually(lambda: names.STARTUP_TAINT not in taints(kubelet.node()), "the node is opened", 90)
            after = kubelet.node()

    found = node_diff.changes(before, after)
    sys.stdout.write(f"\n{node_diff.table(found)}\n")
    changed = {one.path for one in found}
    ours = {one.path for one in found if US in one.writers}
    assert ours == OURS | REMOVED
    assert node_diff.written_by(after, US) == OURS | {TAINTS}, "nothing was written that happened to be so already"
    theirs = {one.path: one.writers for one in found if one.path not in ours}
    assert set(theirs.values()) == {frozenset({"kubelet"})}
    assert {path for path in theirs if not the_kubelets_own(path)} == THE_PLUGINS

    same = node_diff.rest(before, changed)
    assert same == node_diff.rest(after, changed)
    for kept in (*THEIR_LABELS, *THEIR_NOTES, *THEIR_AMOUNTS, THEIR_TAINT["key"], THEIR_CONDITION["type"]):
        assert kept.encode() in same, f"{kept} is among what stayed"
    sys.stdout.write(f"The other {len(json.loads(same))} fields: {len(same)} bytes, the same before and after.\n")
