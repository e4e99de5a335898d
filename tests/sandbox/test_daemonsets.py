"""sandbox/daemonsets: what the contract's device plugin does not show."""

import anyio

from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import DAEMONSETS, NODES
from reconciler.sandbox.machine import Machine
from tests.sandbox.stories import node, pods, virtual


def daemon_set(**spec: object) -> Json:
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}], **spec}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def places(sandbox: Sandbox) -> list[str]:
    return sorted(each["spec"].get("nodeName", "") for each in pods(sandbox, app="d"))


@virtual
async def test_one_on_each_node_that_it_suits() -> None:
    async with Sandbox() as sandbox:
        await sandbox.admin.create(DAEMONSETS, "default", daemon_set(nodeSelector={"gpu": "yes"}))
        await sandbox.add_node("a", Machine(labels={"gpu": "yes"}))
        await sandbox.add_node("b", Machine(labels={"gpu": "no"}))
        await anyio.sleep(10)
        assert places(sandbox) == ["a"]
        await sandbox.admin.merge(NODES, "", "b", {"metadata": {"labels": {"gpu": "yes"}}})
        await sandbox.admin.merge(NODES, "", "a", {"metadata": {"labels": {"gpu": "no"}}})
        await anyio.sleep(40)
        assert places(sandbox) == ["b"]


@virtual
async def test_a_cordon_keeps_no_daemon_away_and_a_taint_to_evict_removes_it() -> None:
    async with Sandbox() as sandbox:
        await sandbox.admin.create(DAEMONSETS, "default", daemon_set())
        await sandbox.add_node("a", Machine())
        await sandbox.admin.merge(NODES, "", "a", {"spec": {"unschedulable": True}})
        await anyio.sleep(10)
        assert places(sandbox) == ["a"]
        taints = [*node(sandbox, "a")["spec"]["taints"], {"key": "out", "effect": "NoExecute"}]
        await sandbox.admin.merge(NODES, "", "a", {"spec": {"taints": taints}})
        await anyio.sleep(40)
        assert places(sandbox) == []


@virtual
async def test_pods_go_with_their_daemon_set() -> None:
    async with Sandbox() as sandbox:
        await sandbox.admin.create(DAEMONSETS, "default", daemon_set())
        await sandbox.add_node("a", Machine())
        await anyio.sleep(10)
        await sandbox.admin.delete(DAEMONSETS, "default", "d")
        await anyio.sleep(40)
        assert places(sandbox) == []
