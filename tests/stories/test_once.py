"""One pass and out: what `gpu-reconciler once` does, as a CronJob would run it."""

from collections.abc import Sequence

import anyio

from reconciler.model import names
from reconciler.model.gpu import SpecAnswer
from reconciler.runtime.errors import Unavailable
from reconciler.sandbox import mishaps
from tests.stories import gpus
from tests.stories.gpus import A10G_MIB, T4_MIB
from tests.stories.stage import Stage, stage
from tests.stories.telling import virtual

STARTUP = f"{names.STARTUP_TAINT}=:NoSchedule"


async def once(play: Stage) -> Sequence[str]:
    """A process that reads the cluster, does one pass and ends; says which keys did not end well."""
    replica = await play.start("once", works=False)
    bad = await replica.controller.once()
    replica.stop()
    return bad


@virtual
async def test_each_pass_goes_one_step_and_the_last_ones_go_none() -> None:
    async with stage(start=False) as play:
        await play.sandbox.add_node("a", gpus.machine(taints=(STARTUP,)))
        await play.sandbox.add_node("b", gpus.machine("g5.xlarge"))
        await play.sandbox.add_node("c", gpus.machine("m5.large", gpus=0))
        await anyio.sleep(30)

        assert await once(play) == []
        assert [play.reason(name) for name in "abc"] == ["True/Provisional", "True/Provisional", ""]
        assert len(play.jobs()) == 2
        await anyio.sleep(60)
        assert await once(play) == []
        assert [play.advertised(name) for name in "ab"] == [T4_MIB, A10G_MIB]
        assert names.STARTUP_TAINT in play.taints("a")
        await anyio.sleep(60)
        assert await once(play) == []
        assert play.taints("a") == []

        before = len(play.writes("once"))
        await anyio.sleep(3600)
        assert await once(play) == []
        assert len(play.writes("once")) == before


@virtual
async def test_what_did_not_end_well_is_named_and_the_rest_is_done() -> None:
    async with stage(start=False) as play:
        for name in "abc":
            await play.sandbox.add_node(name, gpus.machine())
        await anyio.sleep(30)
        play.faults.add(mishaps.FORBIDDEN, path="/nodes/a", user="once")
        play.faults.add(mishaps.ERROR_500_HTML, path="/nodes/b", user="once")
        assert await once(play) == ["a", "b"]
        assert play.reason("c") == "True/Provisional"
        play.faults.clear()
        assert await once(play) == []


@virtual
async def test_a_type_that_nobody_could_be_asked_about_is_named_and_its_node_has_its_guess() -> None:
    async with stage(start=False, types=Away()) as play:
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(30)
        assert await once(play) == ["g4dn.xlarge"]
        assert play.reason("a") == "True/Provisional"


class Away:
    """AWS throttles every call."""

    async def describe(self, instance_types: Sequence[str]) -> Sequence[SpecAnswer]:
        raise Unavailable("ec2: Throttling")
