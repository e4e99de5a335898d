"""People edit what we keep on nodes and in the catalog: it is rebuilt, and no other node notices."""

import json
from typing import Any

import anyio
import pytest

from reconciler.model import names
from reconciler.model.probe_report import ProbeReason
from reconciler.sandbox.kinds import CONFIGMAPS, NODES
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.stage import NAMESPACE, Stage, stage
from tests.stories.telling import virtual

DEEP = "[" * 1000


async def edit(play: Stage, name: str, text: str) -> None:
    await play.admin.merge(NODES, "", name, {"metadata": {"annotations": {names.RECORD: text}}})


def written(play: Stage, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(play.node(name)["metadata"]["annotations"][names.RECORD])
    return found


EDITS: list[dict[str, Any]] = [
    {"advertisedMiB": 10**400},
    {"count": 10**9},
    {"ec2MiB": -1},
    {"serial": 1e300},
    {"contest": {"count": 1, "since": "9999-12-31T23:59:59.999999+00:00"}},
]


@pytest.mark.parametrize("change", [None, *EDITS], ids=["brackets", *(next(iter(change)) for change in EDITS)])
@virtual
async def test_a_record_that_somebody_edited_is_rebuilt_and_the_next_node_joins(change: dict[str, Any] | None) -> None:
    async with stage() as play:
        await play.join()
        await edit(play, "a", DEEP if change is None else json.dumps(written(play, "a") | change))
        await anyio.sleep(60)
        assert (play.advertised(), play.reason(), play.record().count) == (T4_MIB, "True/Verified", 1)
        await play.join("b")
        assert play.reason("b") == "True/Verified"
        await play.quiet(0.2)


@virtual
async def test_a_verdict_that_somebody_dated_to_the_end_of_time_stops_nothing() -> None:
    """No time can be reckoned from it onwards."""
    async with stage() as play:
        play.answers["a"] = gpus.refusal(ProbeReason.GPU_LOST)
        await play.join()
        record = written(play, "a")
        record["probe"]["at"] = "9999-12-31T23:59:59.999999+00:00"
        await edit(play, "a", json.dumps(record))
        await anyio.sleep(2 * 3600)
        await play.join("b")
        assert (play.advertised("b"), play.reason("b")) == (T4_MIB, "True/Verified")


@virtual
async def test_catalog_entries_of_brackets_are_stepped_over_and_kept_aside() -> None:
    async with stage() as play:
        await play.join()
        broken = {"nvml.g4dn.xlarge": DEEP, "ec2.g4dn.xlarge": DEEP}
        await play.admin.merge(CONFIGMAPS, NAMESPACE, "gpu-reconciler-catalog", {"data": broken})
        await anyio.sleep(5)
        await play.join("b")
        assert play.reason("b") == "True/Verified"
        assert play.catalog()["broken.nvml.g4dn.xlarge"] == DEEP
        assert json.loads(play.catalog()["nvml.g4dn.xlarge"])["totalMiB"] == 15360
