"""What sharing writes on a node is a short list, and all the rest is byte for byte what it was (invariant I6)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.sharing import Exclusive, Replicas
from reconciler.sandbox.encoding import Json, decode
from reconciler.sandbox.kinds import NODES
from tests.controlplane.node_diff import changes, table
from tests.stories.sharing_stage import (
    CHART,
    FOUR,
    anew,
    offered,
    profile,
    ruled,
    shared_machine,
    shares,
    sharing_stage,
)
from tests.stories.stage import Stage
from tests.stories.telling import virtual
from tests.stories.test_foreign import FOREIGN_TAINTS, RESOURCES

PAGE = Path(__file__).parents[2] / "docs" / "sharing.md"

OURS = (
    *(f"metadata.labels.{key}" for key in names.OUR_LABELS),
    f"metadata.labels.{names.PLUGIN_CONFIG}",
    f"metadata.annotations.{names.RECORD}",
    f"metadata.annotations.{names.SHARING_RECORD}",
    f"status.*.{names.MEMORY_RESOURCE}",
    f"status.conditions.{names.CONDITION}.*",
    f"status.conditions.{names.SHARING_CONDITION}.*",
    f"spec.taints.{names.STARTUP_TAINT}.*",
    f"spec.taints.{names.FENCE_TAINT}.*",
)
"""All that we ever write on a node: docs/sharing.md."""

THEIRS = (
    "status.capacity.nvidia.com/gpu*",
    "status.allocatable.nvidia.com/gpu*",
    "status.conditions.*.lastHeartbeatTime",
)
"""What the device plugin and the kubelet write meanwhile."""

TOUGH = replace(CHART, tolerations=({"operator": "Exists"},))
"""A plugin that stays whatever taints come."""

STRANGE: Json = {
    "labels": {"nvidia.com/gpu.memory": "15360", "nvidia.com/gpu.replicas": "9", "gpu-reconciler.io/theirs": "x"},
    "annotations": {
        "example.com/json": '{"b":1,  "a":[ 1.0, 1e3 ],"ü":"\\u00fc \\n"}',
        "example.com/empty": "",
        "gpu-reconciler.io/note": "by hand",
    },
}


async def dressed(play: Stage) -> None:
    """A node with everything on it that others may put there, whose plugin has come to rest."""
    await play.sandbox.add_node("a", shared_machine())
    await play.admin.merge(NODES, "", "a", {"metadata": STRANGE, "spec": {"taints": FOREIGN_TAINTS}})
    status: Json = {"capacity": RESOURCES, "allocatable": RESOURCES}
    status["conditions"] = [{"type": "example.com/Odd", "status": "Unknown", "reason": "Because", "message": "ü"}]
    await play.admin.strategic(NODES, "", "a", {"status": status}, subresource="status")
    await anyio.sleep(30)


async def joined(play: Stage) -> None:
    await play.start()
    await anyio.sleep(60)
    assert (shares(play), offered(play)) == ("True/Sliced", 4)


async def switched(play: Stage) -> None:
    await joined(play)
    await anew(play, ruled(Exclusive()))
    await anyio.sleep(60)
    assert (shares(play), offered(play)) == ("True/Exclusive", 1)


async def ruled_no_more(play: Stage) -> None:
    await joined(play)
    await anew(play, SlicingPolicy(rules=(SlicingRule(Replicas(2), labels={"no": "node"}),)))
    await anyio.sleep(60)
    assert (shares(play), profile(play)) == ("", "ts-4")


@pytest.mark.parametrize("story", [joined, switched, ruled_no_more])
@virtual
async def test_only_what_is_in_the_list_is_different_afterwards(story: Callable[[Stage], Awaitable[None]]) -> None:
    async with sharing_stage(FOUR, chart=TOUGH, start=False) as play:
        await anyio.sleep(130)
        await dressed(play)
        before = play.node()
        await story(play)

        found = changes(before, play.node())
        foreign = [one for one in found if not _known(".".join(one.path))]
        assert foreign == [], f"\n{table(foreign)}\n\nof all that has changed:\n{table(found)}"
        ours = [one for one in found if _of(".".join(one.path), OURS)]
        assert len(ours) >= 15, "and we did come by"
        assert [taint["key"] for taint in play.node()["spec"]["taints"]] == [
            taint["key"] for taint in FOREIGN_TAINTS if taint["key"] != names.STARTUP_TAINT
        ], "in their order"


@virtual
async def test_no_request_of_ours_names_anything_else() -> None:
    async with sharing_stage(FOUR, chart=TOUGH, start=False) as play:
        await anyio.sleep(130)
        await dressed(play)
        await switched(play)
        patches = [decode(call.body) for call in play.writes() if "/nodes/a" in call.path]
        assert len(patches) >= 8
        for patch in patches:
            taints = patch.get("spec", {}).pop("taints", None) or []
            for taint in taints:  # the list is written whole, with the version that it was read at
                known = [{**one} for one in FOREIGN_TAINTS]
                assert taint in known or taint["key"] == names.FENCE_TAINT
            keys = [*patch["metadata"].get("labels", {}), *patch["metadata"].get("annotations", {})]
            assert set(keys) <= {*names.OUR_LABELS, names.PLUGIN_CONFIG, names.RECORD, names.SHARING_RECORD}
            status = patch.get("status", {})
            assert {*status.get("capacity", {}), *status.get("allocatable", {})} <= {names.MEMORY_RESOURCE}
            types = {one["type"] for one in status.get("conditions", [])}
            assert types <= {names.CONDITION, names.SHARING_CONDITION}


def _known(path: str) -> bool:
    return _of(path, (*OURS, *THEIRS))


def _of(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def test_the_page_lists_every_field_that_is_written() -> None:
    page = PAGE.read_text()
    names_of_ours = [key for pattern in OURS for key in _names(pattern)]
    assert [name for name in names_of_ours if f"`{name}`" not in page] == []


def _names(pattern: str) -> list[str]:
    """The last part that is a name: domains have dots of their own."""
    for head in ("metadata.labels.", "metadata.annotations.", "status.conditions.", "spec.taints.", "status.*."):
        if pattern.startswith(head):
            return [pattern.removeprefix(head).removesuffix(".*")]
    return [pattern]
