"""How many calls of the API does a node take, from its join until both conditions are true and pods may come?"""

from collections import Counter

import anyio

from reconciler.model.policy import CapacityPolicy
from tests.stories.sharing_stage import shared_machine, shares, sharing_stage
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

MOUNTED = 130.0
"""Seconds after which pods see a ConfigMap as it is."""


def calls(play: Stage) -> Counter[str]:
    """What a join asked of the API server: each write, and the reads that a write of the catalog takes."""
    found = [call for call in play.sandbox.record.of(OURS) if not call.watch and "/leases" not in call.path]
    kinds = ("events", "jobs", "configmaps")
    return Counter(
        f"{call.method} {next((kind for kind in kinds if f'/{kind}' in call.path), call.path.replace('/api/v1/', ''))}"
        for call in found
        if call.method != "GET" or "/configmaps/" in call.path
    )


WITH_PROBE = {
    "POST events": 4,
    "PATCH nodes/a/status": 4,
    "PATCH nodes/a": 1,
    "POST jobs": 1,
    "GET configmaps": 2,
    "POST configmaps": 1,
    "PATCH configmaps": 1,
}
"""Fourteen calls. Two events and the patch with value, label and both conditions come before all else; the rest are
EC2's answer, the probe's, the plugin's, and the taint."""

WITHOUT_PROBE = {
    "POST events": 3,
    "PATCH nodes/a/status": 2,
    "PATCH nodes/a": 1,
}
"""Six calls, where the probe is switched off and EC2's answer is in the catalog."""

AGAIN = {"POST events": 4, "PATCH nodes/a/status": 3, "PATCH nodes/a": 1, "POST jobs": 1}


@virtual
async def test_a_join_takes_fourteen_calls_until_both_answers_are_true_and_pods_may_come() -> None:
    async with sharing_stage() as play:
        await anyio.sleep(MOUNTED)
        assert calls(play) == {}
        await play.join("a", shared_machine())
        assert (play.reason(), shares(play), play.taints()) == ("True/Verified", "True/Sliced", [])
        assert calls(play) == WITH_PROBE
        refused = [str(call) for call in play.writes() if call.status >= 300]
        assert refused == [], "and none of them twice"


@virtual
async def test_without_probe_a_join_of_a_known_type_takes_six_calls() -> None:
    async with sharing_stage(capacity=CapacityPolicy(probe=False)) as play:
        await play.join("b", shared_machine())
        await anyio.sleep(MOUNTED)
        first = calls(play)
        await play.join("a", shared_machine())
        assert shares(play) == "True/Sliced"
        assert play.taints() == []
        assert calls(play) - first == WITHOUT_PROBE


@virtual
async def test_a_second_node_of_a_type_takes_nine_calls() -> None:
    """What the first one's probe has found is in the catalog."""
    async with sharing_stage() as play:
        await play.join("b", shared_machine())
        await anyio.sleep(MOUNTED)
        first = calls(play)
        await play.join("a", shared_machine())
        assert (play.reason(), shares(play), play.taints()) == ("True/Verified", "True/Sliced", [])
        assert calls(play) - first == AGAIN
