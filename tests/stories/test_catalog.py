"""What one node teaches, the next one of its type has from the first moment; people may break what is kept."""

import json

import anyio

from reconciler.kube import catalog_entries
from reconciler.model.record import Source
from reconciler.sandbox.kinds import CONFIGMAPS
from reconciler.sandbox.nvml_double import T4
from tests.stories import gpus
from tests.stories.ec2 import Ec2
from tests.stories.gpus import T4_MIB
from tests.stories.stage import NAMESPACE, Stage, stage
from tests.stories.telling import virtual

CATALOG = "gpu-reconciler-catalog"
LEARNED = f"{catalog_entries.LEARNED}g4dn.xlarge"
ASKED = f"{catalog_entries.ASKED}g4dn.xlarge"


async def second_node(play: Stage) -> int | None:
    """What a second node advertises before its own probe can have answered."""
    await play.sandbox.add_node("b", gpus.machine())
    await anyio.sleep(0.2)
    return play.advertised("b")


@virtual
async def test_the_second_node_of_a_type_is_right_at_once() -> None:
    async with stage() as play:
        await play.join()
        assert await second_node(play) == T4_MIB
        assert (play.reason("b"), play.record("b").source) == ("True/Learned", Source.LEARNED)
        await anyio.sleep(60)
        assert play.reason("b") == "True/Verified"
        await play.quiet(0.2)


@virtual
async def test_a_restarted_controller_still_knows_and_asks_ec2_nothing() -> None:
    ec2 = Ec2()
    async with stage(types=ec2) as play:
        await play.join()
        play.replicas["ours"].kill()
        await play.start("later")
        assert await second_node(play) == T4_MIB
        await anyio.sleep(60)
        assert (len(ec2.calls), play.reason("b")) == (1, "True/Verified")
        assert [call.path for call in play.writes("later") if call.path.endswith("/nodes/a/status")] == []


@virtual
async def test_an_entry_that_somebody_broke_is_kept_aside_and_written_anew() -> None:
    async with stage() as play:
        await play.join()
        broken = '{"total_mib": "lots"'
        await play.admin.merge(CONFIGMAPS, NAMESPACE, CATALOG, {"data": {LEARNED: broken, "note": "by hand"}})
        await anyio.sleep(5)
        assert play.advertised() == T4_MIB
        play.answers["b"] = gpus.report(T4, driver="590.1")
        await play.join("b")

        found = play.catalog()
        assert found[f"broken.{LEARNED}"] == broken
        assert found["note"] == "by hand"
        assert json.loads(found[LEARNED])
        assert await _third_is_right(play)
        assert [trouble for trouble in play.replicas["ours"].ear.troubles if LEARNED in trouble.why]


@virtual
async def test_a_catalog_of_nonsense_stops_nothing() -> None:
    async with stage(start=False) as play:
        data = {LEARNED: "[]", ASKED: "\x07", catalog_entries.LEARNED: "{}", "x": "y"}
        await play.sandbox.put_configmap(NAMESPACE, CATALOG, data)
        await play.start()
        await play.join()
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        kept = play.catalog()
        assert (kept[f"broken.{LEARNED}"], kept[f"broken.{ASKED}"]) == ("[]", "\x07")
        assert kept["x"] == "y"
        await play.quiet(0.2)


@virtual
async def test_a_deleted_catalog_is_no_loss_of_what_stands_on_nodes() -> None:
    async with stage() as play:
        await play.join()
        await play.admin.delete(CONFIGMAPS, NAMESPACE, CATALOG)
        await anyio.sleep(60)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")
        await play.join("b")
        assert (play.advertised("b"), play.reason("b")) == (T4_MIB, "True/Verified")
        assert await _third_is_right(play)
        await anyio.sleep(60)
        await play.quiet(0.2)


async def _third_is_right(play: Stage) -> bool:
    await play.sandbox.add_node("c", gpus.machine())
    await anyio.sleep(0.2)
    return play.advertised("c") == T4_MIB
