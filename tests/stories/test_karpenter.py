"""Karpenter's nodes are its alone until it has registered them; its kinds may come and go while we run."""

import anyio

from reconciler.model import names
from reconciler.sandbox.kinds import DEFINITIONS, NODECLAIMS, NODES
from tests.stories import gpus
from tests.stories.ec2 import Ec2
from tests.stories.gpus import T4_MIB
from tests.stories.stage import stage
from tests.stories.telling import virtual

POOL = {names.KARPENTER_NODEPOOL: "gpu"}
UNREGISTERED = f"{names.KARPENTER_UNREGISTERED_TAINT}=:NoExecute"


@virtual
async def test_a_node_that_karpenter_has_not_registered_is_not_touched() -> None:
    """Registration replaces labels and taints from a stale copy, so ours would be lost, or theirs."""
    async with stage() as play:
        await play.join("a", gpus.machine(labels=POOL, taints=(UNREGISTERED,)))
        assert [call for call in play.writes() if "/nodes/" in call.path or call.path.endswith("/jobs")] == []

        registered = {"metadata": {"labels": {names.KARPENTER_REGISTERED: "true"}}, "spec": {"taints": None}}
        await play.admin.merge(NODES, "", "a", registered)
        await anyio.sleep(1)
        assert play.reason() == "True/Provisional"
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_the_kind_node_claim_may_come_and_go_while_we_run() -> None:
    ec2 = Ec2()
    async with stage(types=ec2) as play:
        for kind in ("g5.xlarge", "g6.xlarge"):
            await anyio.sleep(90)
            await play.sandbox.install_karpenter((NODECLAIMS,))
            await anyio.sleep(90)
            claim = {"metadata": {"name": kind}, "spec": {"requirements": _only(kind)}}
            await play.admin.create(NODECLAIMS, "", claim)
            await anyio.sleep(10)
            assert kind in [asked for call in ec2.calls for asked in call]
            await play.admin.delete(DEFINITIONS, "", NODECLAIMS.resource)
        await play.join()
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        assert play.replicas["ours"].controller.claims.views() == []


@virtual
async def test_a_claim_that_says_no_type_yet_asks_nothing() -> None:
    ec2 = Ec2()
    async with stage(types=ec2, start=False) as play:
        await play.sandbox.install_karpenter()
        await play.start()
        requirement = {"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": ["g5.xlarge", "g6.xlarge"]}
        await play.admin.create(NODECLAIMS, "", {"metadata": {"name": "c"}, "spec": {"requirements": [requirement]}})
        await anyio.sleep(30)
        assert ec2.calls == []
        await play.admin.merge(NODECLAIMS, "", "c", {"metadata": {"labels": {names.LABEL_INSTANCE_TYPE: "g6.xlarge"}}})
        await anyio.sleep(30)
        assert ec2.calls == [("g6.xlarge",)]


def _only(kind: str) -> list[dict[str, object]]:
    return [{"key": names.LABEL_INSTANCE_TYPE, "operator": "In", "values": [kind]}]
