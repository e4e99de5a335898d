"""Does the recipe of starting point A, which patches capacity alone, get along with us on the same node?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import yaml

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet, Machine
from tests.controlplane.product import UNPROBED, memory, reason
from tests.controlplane.replica import Replica
from tests.controlplane.waiting import eventually, never
from tests.deploy.objects import EXAMPLES, Object, examples

Kubelets = Callable[..., HollowKubelet]
Replicas = Callable[..., Replica]

RECIPE = EXAMPLES / "starting-point-a" / "daemonset-recipe.yaml"
THEIRS = 15079
QUICK = Machine(status_seconds=2)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What their DaemonSet does on a node, with the rights that it has."""

    plane: ControlPlane
    token: str
    patch: object

    def on(self, kubelet: HollowKubelet) -> None:
        """Patch the node's capacity, as their script does with curl."""
        self.plane.api_as(self.token, "recipe").patch(f"{kubelet.path}/status", self.patch)


@pytest.fixture
def recipe(control_plane: ControlPlane) -> Recipe:
    """Their account and rights from the example's file, and the patch out of its script."""
    objects: list[Object] = [one for one in examples() if one.file == RECIPE]
    (daemon,) = [one.body for one in objects if one.kind == "DaemonSet"]
    (script,) = daemon["spec"]["template"]["spec"]["containers"][0]["args"]
    rights = [one.body for one in objects if one.kind != "DaemonSet"]
    control_plane.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(rights))
    patch = re.search(r"--data '(.*?)'", script)
    assert patch is not None
    return Recipe(
        control_plane, control_plane.token_for_service_account("kube-system", "add-gpu-memory"), json.loads(patch[1])
    )


@pytest.mark.parametrize(
    ("setting", "value", "why"), [("take", UNPROBED, "Unverified"), ("leave", THEIRS, "ForeignValue")]
)
def test_whoever_comes_first_the_setting_decides_and_nobody_fights(
    setting: str,
    value: int,
    why: str,
    control_plane: ControlPlane,
    hollow_kubelet: Kubelets,
    replica: Replicas,
    recipe: Recipe,
) -> None:
    """Their patch before ours and after it end the same, with a handful of patches of ours and then none."""
    before, after = hollow_kubelet(QUICK), hollow_kubelet(QUICK)
    recipe.on(before)
    eventually(lambda: memory(control_plane, before.path) == (THEIRS, THEIRS), "their recipe works by itself", 15)

    one = replica("one", {"probe.enabled": False, "capacity.existing_value": setting}).lead()
    eventually(lambda: memory(control_plane, after.path) == (UNPROBED, UNPROBED), "ours is advertised", 15)
    recipe.on(after)

    def settled() -> bool:
        return all(
            (memory(control_plane, node.path), reason(control_plane, node.path)) == ((value, value), why)
            for node in (before, after)
        )

    eventually(settled, f"both nodes show {value} MiB because of {why}", 15)
    patches = [call.name for call in one.writes() if call.resource == "nodes/status"]
    # The answer, and its words once EC2 was asked; after theirs the new answer, and once more where the kubelet had
    # copied theirs in the same moment.
    assert 1 <= patches.count(before.name) <= 2
    assert 2 <= patches.count(after.name) <= 4
    written = len(one.writes())
    never(lambda: not settled() or len(one.writes()) > written, "somebody wrote again", 5)
