"""Kubelets start anew, machines boot again and plugins are replaced under a node that is shared: it ends right."""

import anyio
import pytest

from reconciler.model import names
from reconciler.sandbox.kinds import PODS
from tests.stories.sharing_stage import gpu_pod, offered, profile, refused, shared_machine, shares, sharing_stage
from tests.stories.stage import Stage
from tests.stories.telling import virtual

STEADY = 200.0


async def sliced_in_four(play: Stage) -> None:
    await play.join("a", shared_machine())
    assert (shares(play), offered(play)) == ("True/Sliced", 4)


def as_before(play: Stage) -> None:
    assert (play.reason(), shares(play)) == ("True/Verified", "True/Sliced")
    assert (profile(play), offered(play), play.taints(), play.restless()) == ("ts-4", 4, [], [])


@pytest.mark.parametrize("zero", [False, True], ids=["that remembers", "that zeroes"])
@virtual
async def test_a_kubelet(zero: bool) -> None:
    async with sharing_stage() as play:
        await sliced_in_four(play)
        before = play.sandbox.clock.now()
        await play.sandbox.restart_kubelet("a", zero=zero)
        await anyio.sleep(STEADY)
        as_before(play)
        labels = [call for call in play.writes(since=before) if names.PLUGIN_CONFIG.encode() in call.body]
        assert all(b"ts-2" not in call.body and b"exclusive" not in call.body for call in labels)
        await play.quiet(0.2)


@virtual
async def test_a_machine_that_boots_again() -> None:
    """Another boot id: the memory is measured anew, and the profile stays meanwhile."""
    async with sharing_stage() as play:
        await sliced_in_four(play)
        await play.sandbox.restart_kubelet("a", zero=True, boot_id="second-boot")
        await anyio.sleep(1)
        assert profile(play) == "ts-4"
        await anyio.sleep(STEADY)
        as_before(play)
        await play.quiet(0.2)


@virtual
async def test_a_plugins_pod_that_is_replaced() -> None:
    async with sharing_stage() as play:
        await sliced_in_four(play)
        [pod] = [
            pod["metadata"]["name"]
            for pod in play.sandbox.store.all(PODS)
            if pod["metadata"]["namespace"] == "nvidia-device-plugin"
        ]
        await play.admin.delete(PODS, "nvidia-device-plugin", pod)
        await anyio.sleep(STEADY)
        as_before(play)
        await play.quiet(0.2)


@virtual
async def test_a_node_of_the_same_name_is_another_node() -> None:
    async with sharing_stage() as play:
        await sliced_in_four(play)
        await play.sandbox.replace_node("a", shared_machine())
        await anyio.sleep(60)
        as_before(play)
        await gpu_pod(play, "p")
        await anyio.sleep(5)
        assert (play.pod_phase("p"), refused(play)) == ("Running", [])
