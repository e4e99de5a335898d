"""People change their minds: a new process with other knobs brings every node to what they say now."""

import anyio
import pytest

from reconciler.model.policy import CapacityPolicy, ExistingValue, MultiGpu
from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import encode
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.refusal import status_object
from tests.stories import gpus
from tests.stories.gpus import T4_MIB
from tests.stories.stage import NAMESPACE, OURS, stage
from tests.stories.telling import virtual

FOUR = 4 * T4_MIB


@pytest.mark.parametrize(
    ("before", "after", "mib"),
    [
        (CapacityPolicy(), CapacityPolicy(margin_mib=500), T4_MIB - 500),
        (CapacityPolicy(margin_percent=10.0), CapacityPolicy(), T4_MIB),
        (CapacityPolicy(), CapacityPolicy(margin_mib=20_000), None),
        (CapacityPolicy(), CapacityPolicy(probe=False), T4_MIB),
        (CapacityPolicy(probe=False), CapacityPolicy(), T4_MIB),
        (CapacityPolicy(), CapacityPolicy(existing_value=ExistingValue.LEAVE), T4_MIB),
    ],
)
@virtual
async def test_a_new_knob_is_applied_to_nodes_that_are_there(
    before: CapacityPolicy, after: CapacityPolicy, mib: int | None
) -> None:
    async with stage(policy=before) as play:
        await play.join()
        play.replicas["ours"].stop()
        await play.start("later", policy=after)
        await anyio.sleep(60)
        assert play.advertised() == mib
        await play.quiet(0.1, who="later")


@pytest.mark.parametrize(
    ("before", "after", "mib"), [(MultiGpu.SUM, MultiGpu.SKIP, None), (MultiGpu.SKIP, MultiGpu.SUM, FOUR)]
)
@virtual
async def test_a_sum_comes_and_goes_with_the_policy(before: MultiGpu, after: MultiGpu, mib: int | None) -> None:
    async with stage(policy=CapacityPolicy(multi_gpu=before)) as play:
        await play.join("a", gpus.machine("g4dn.12xlarge", gpus=4))
        play.replicas["ours"].stop()
        await play.start("later", policy=CapacityPolicy(multi_gpu=after))
        await anyio.sleep(60)
        assert play.advertised() == mib
        await play.quiet(0.1, who="later")


@virtual
async def test_a_larger_margin_waits_for_the_pods_that_it_would_hurt() -> None:
    async with stage() as play:
        await play.join()
        await play.pod("p", T4_MIB)
        await anyio.sleep(10)
        play.replicas["ours"].stop()
        await play.start("later", policy=CapacityPolicy(margin_mib=1_000))
        await anyio.sleep(30)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/WouldOvercommit")
        await play.end("p")
        assert (play.advertised(), play.reason()) == (T4_MIB - 1_000, "True/Verified")


@virtual
async def test_without_our_namespace_the_guess_stands_and_the_probe_comes_later() -> None:
    missing = status_object(404, "NotFound", f'namespaces "{NAMESPACE}" not found')
    async with stage() as play:
        rule = play.faults.add(Answer(Response(404, encode(missing))), method="POST", path="gpu-reconciler/", user=OURS)
        await play.sandbox.add_node("a", gpus.machine())
        await anyio.sleep(300)
        assert play.reason() == "True/Provisional"
        assert 3 <= rule.met < 20, "with patience"
        play.faults.remove(rule)
        await anyio.sleep(90)
        assert (play.advertised(), play.reason()) == (T4_MIB, "True/Verified")


@virtual
async def test_fifteen_nodes_at_once_are_all_right_within_a_minute_and_teach_once() -> None:
    async with stage() as play:
        for number in range(15):
            await play.sandbox.add_node(f"n{number:02}", gpus.machine())
        await anyio.sleep(60)
        assert {(play.advertised(f"n{number:02}"), play.reason(f"n{number:02}")) for number in range(15)} == {
            (T4_MIB, "True/Verified")
        }
        writes = [call for call in play.writes() if call.status < 300]
        assert sum("/configmaps" in call.path for call in writes) <= 6
        assert sum("/nodes/" in call.path for call in writes) <= 3 * 15
