"""Whatever happens in whatever order: no pod is refused behind the startup taint, and all ends in the same state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import anyio
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from reconciler.model import names
from reconciler.model.sharing import Replicas
from reconciler.sandbox import mishaps
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.faults import Drop, Fault, Lost
from reconciler.sandbox.kinds import CONFIGMAPS, NODES, PODS
from reconciler.sandbox.plugin_chart import EXCLUSIVE, sliced
from reconciler.sandbox.plugin_script import PluginScript
from tests.stories.sharing_stage import (
    anew,
    gpu_pod,
    offered,
    profile,
    refused,
    ruled,
    shared_machine,
    shares,
    sharing_stage,
)
from tests.stories.stage import OURS, Stage
from tests.stories.telling import virtual

FOUR, TWO = ruled(Replicas(4)), ruled(Replicas(2))
SETTLED = 900.0
"""Seconds: the plugin's time, a mounted ConfigMap, a back-off, and the TTL of a probe."""
FAULTS: Sequence[Fault] = (mishaps.CONFLICT, mishaps.ERROR_500, Lost(), Drop())


@dataclass(frozen=True, slots=True)
class Want:
    """One more pod asks for a GPU."""


@dataclass(frozen=True, slots=True)
class End:
    """The oldest of the pods that run ends."""


@dataclass(frozen=True, slots=True)
class PluginComes:
    """Node feature discovery labels the node, and the plugin's DaemonSet comes to it."""


@dataclass(frozen=True, slots=True)
class PluginDies:
    """Somebody deletes the plugin's pod."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    zero: bool


@dataclass(frozen=True, slots=True)
class Config:
    """The key of our profile comes into the ConfigMap, or goes."""

    there: bool


@dataclass(frozen=True, slots=True)
class Crash:
    """Our process dies and is started again."""


@dataclass(frozen=True, slots=True)
class Trouble:
    fault: Fault


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


Step = Want | End | PluginComes | PluginDies | Kubelet | Config | Crash | Trouble | Wait

JOINING = st.one_of(
    st.sampled_from([Want(), PluginComes(), PluginDies(), Crash(), Kubelet(False), Config(True)]),
    st.builds(Trouble, st.sampled_from(FAULTS)),
    st.builds(Wait, st.floats(0.0, 90.0)),
)
LIVING = st.one_of(
    st.sampled_from([Want(), End(), Crash(), Config(False), Config(True)]),
    st.builds(Trouble, st.sampled_from(FAULTS)),
    st.builds(Wait, st.floats(0.0, 90.0)),
)


class History:
    """Carries steps out on a node that joins with our startup taint."""

    def __init__(self, play: Stage) -> None:
        self._play = play
        self._pods = 0

    async def do(self, step: Step) -> None:
        match step:
            case Want() | End():
                await self._pod(step)
            case PluginComes() | PluginDies() | Kubelet() | Config():
                await self._node(step)
            case Crash():
                await anew(self._play, self._play.slicing)
            case Trouble(fault):
                self._play.faults.add(fault, user=OURS, chance=0.3, times=15)
            case Wait(seconds):
                await anyio.sleep(seconds)
            case _:
                assert_never(step)
        await anyio.sleep(0.3)

    async def _pod(self, step: Want | End) -> None:
        match step:
            case Want():
                self._pods += 1
                await gpu_pod(self._play, f"p{self._pods}")
            case End():
                for name in sorted(self._running())[:1]:
                    await self._play.admin.delete(PODS, "default", name)
            case _:
                assert_never(step)

    async def _node(self, step: PluginComes | PluginDies | Kubelet | Config) -> None:
        admin = self._play.admin
        match step:
            case PluginComes():
                await admin.merge(NODES, "", "a", {"metadata": {"labels": {"nvidia.com/gpu.present": "true"}}})
            case PluginDies():
                for pod in self._in("nvidia-device-plugin"):
                    await admin.delete(PODS, "nvidia-device-plugin", pod["metadata"]["name"])
            case Kubelet(zero):
                await self._play.sandbox.restart_kubelet("a", zero=zero)
            case Config(there):
                data = {name: sliced(count) if there else None for name, count in (("ts-2", 2), ("ts-4", 4))}
                await admin.merge(CONFIGMAPS, "nvidia-device-plugin", "gpu-profiles", {"data": data})
            case _:
                assert_never(step)

    async def empty(self) -> None:
        """All pods that asked for a GPU are deleted."""
        for pod in self._in("default"):
            await self._play.admin.delete(PODS, "default", pod["metadata"]["name"])

    def _in(self, namespace: str) -> list[Json]:
        return [pod for pod in self._play.sandbox.store.all(PODS) if pod["metadata"]["namespace"] == namespace]

    def _running(self) -> list[str]:
        found = self._in("default")
        return [pod["metadata"]["name"] for pod in found if pod["status"].get("phase") == "Running"]


async def end(play: Stage, history: History, slots: int) -> None:
    """All that was missing comes, time passes, and it is as if nothing had been."""
    play.faults.clear()
    await history.do(Config(True))
    await history.do(PluginComes())
    await anyio.sleep(SETTLED)
    assert (play.reason(), shares(play)) == ("True/Verified", "True/Sliced")
    assert (profile(play), offered(play), play.taints()) == (f"ts-{slots}", slots, [])
    assert (refused(play), play.restless()) == ([], [])
    await play.quiet(0.05)


LATE_KEY: list[Step] = [PluginComes(), Wait(60.0), Config(True), Wait(5.0), Want(), Wait(90.0), Want(), Wait(60.0)]
"""The plugin offers whole GPUs, long before there is a profile to follow."""


@settings(max_examples=15, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@example(steps=LATE_KEY, key=False)
@given(st.lists(JOINING, min_size=2, max_size=8), st.booleans())
def test_any_order_of_a_join_lets_no_pod_in_before_all_is_ready(steps: list[Step], key: bool) -> None:
    """`key`: whether the profile is in the ConfigMap from the start."""

    @virtual
    async def play_it() -> None:
        configs = {"exclusive": EXCLUSIVE, **({"ts-4": sliced(4)} if key else {})}
        async with sharing_stage(FOUR, configs=configs) as play:
            history = History(play)
            await history.do(Want())
            await play.sandbox.add_node("a", shared_machine(script=PluginScript(labelled=False)))
            for step in steps:
                await history.do(step)
                assert refused(play) == []
                if names.STARTUP_TAINT not in play.taints():
                    assert (shares(play), offered(play)) == ("True/Sliced", 4)
            await end(play, history, 4)

    play_it()


@settings(max_examples=15, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.lists(LIVING, min_size=2, max_size=8))
def test_any_order_of_a_later_switch_refuses_no_pod(steps: list[Step]) -> None:
    @virtual
    async def play_it() -> None:
        async with sharing_stage(FOUR) as play:
            await play.join("a", shared_machine())
            history = History(play)
            play.slicing = TWO
            for step in [steps[0], Crash(), *steps[1:]]:
                await history.do(step)
                assert refused(play) == []
            await history.empty()
            await end(play, history, 2)

    play_it()
