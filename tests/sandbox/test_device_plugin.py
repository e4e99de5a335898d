"""sandbox: what a node offers while NVIDIA's device plugin, with its config-manager, decides about it."""

from dataclasses import replace

import anyio
import pytest

from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.kinds import NODES, PODS
from reconciler.sandbox.label_writer import LabelWriter
from reconciler.sandbox.plugin_chart import DEPLOY_LABEL, OPERATOR, PluginChart, sliced
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU
from tests.sandbox.plugin_stories import (
    CHART,
    CONFIGS,
    choose,
    container,
    edit,
    joined,
    offered,
    plugin_pod,
    states,
)
from tests.sandbox.stories import node, phase, pod, virtual

SHARED = f"{GPU}.shared"


@pytest.mark.parametrize(
    ("label", "resource", "count"),
    [("", GPU, "2"), ("ts-4", GPU, "8"), ("shared", SHARED, "8"), ("mps-3", GPU, "6")],
)
@virtual
async def test_a_node_comes_up_with_what_its_label_says(label: str, resource: str, count: str) -> None:
    """All at once: what the default would have offered is never seen."""
    async with Sandbox() as sandbox:
        await joined(sandbox, gpus=2, label=label)
        assert offered(sandbox, resource) == (count, count)
        assert [name for name in node(sandbox, "n")["status"]["capacity"] if "nvidia" in name] == [resource]
        assert states(sandbox) == ["Completed", "Running", "Running"]


@virtual
async def test_a_label_switches_and_meanwhile_nothing_is_allocatable() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, gpus=2, switch_seconds=25.0)
        await choose(sandbox, "ts-4")
        await anyio.sleep(15)
        assert offered(sandbox) == ("2", "0")
        await anyio.sleep(20)
        assert offered(sandbox) == ("8", "8")
        await choose(sandbox, None)
        await anyio.sleep(40)
        assert offered(sandbox) == ("2", "2")
        assert [container(sandbox, each)["restartCount"] for each in ("sidecar", "ctr")] == [0, 0]


@virtual
async def test_a_pod_that_comes_while_it_switches_is_refused_for_good_and_pods_that_run_go_on() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, switch_seconds=25.0)
        await sandbox.admin.create(PODS, "default", pod("before", {GPU: "1"}, nodeName="n"))
        await anyio.sleep(2)
        await choose(sandbox, "ts-4")
        await anyio.sleep(2)
        await sandbox.admin.create(PODS, "default", pod("meanwhile", {GPU: "1"}, nodeName="n"))
        await anyio.sleep(60)
        await sandbox.admin.create(PODS, "default", pod("after", {GPU: "4"}, nodeName="n"))
        await anyio.sleep(2)
        assert phase(sandbox, "before") == ("Running", None)
        assert phase(sandbox, "meanwhile") == ("Failed", "UnexpectedAdmissionError")
        assert phase(sandbox, "after") == ("Running", None), "slices are other devices than the whole GPU"
        refused = sandbox.store.get(PODS, "default/meanwhile")
        assert refused is not None
        assert refused["status"]["message"] == (
            "Pod was rejected: Allocate failed due to no healthy devices present; "
            "cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected"
        )


@virtual
async def test_an_edited_key_is_not_noticed_but_a_new_pod_reads_it() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-2")
        await edit(sandbox, {"ts-2": sliced(16)})
        await anyio.sleep(600)
        assert offered(sandbox) == ("2", "2")
        await sandbox.admin.delete(PODS, CHART.namespace, plugin_pod(sandbox)["metadata"]["name"])
        await anyio.sleep(30)
        assert offered(sandbox) == ("16", "16")


@virtual
async def test_another_name_leaves_the_old_one_behind_for_ever() -> None:
    """Capacity stays for five minutes; then both are 0, and nobody takes them away."""
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4")
        await choose(sandbox, "shared")
        await anyio.sleep(60)
        assert (offered(sandbox), offered(sandbox, SHARED)) == (("4", "0"), ("4", "4"))
        await anyio.sleep(200)
        assert offered(sandbox) == ("4", "0")
        await anyio.sleep(100)
        assert offered(sandbox) == ("0", "0")
        await anyio.sleep(3600)
        assert offered(sandbox) == ("0", "0")
        gone = {"capacity": {GPU: None}, "allocatable": {GPU: None}}
        await sandbox.admin.merge(NODES, "", "n", {"status": gone}, subresource="status")
        await anyio.sleep(60)
        assert offered(sandbox) == (None, None), "who removes it is not overruled"


@pytest.mark.parametrize(
    ("chart", "count"),
    [
        (PluginChart(configs=None), "1"),
        (PluginChart(configs={"any": sliced(4)}, default=""), "4"),
        (PluginChart(configs={"default": sliced(3), "x": sliced(4)}, default=""), "3"),
        (PluginChart(configs={"a": sliced(3), "b": sliced(4)}, default=""), None),
        (PluginChart(configs={"a": sliced(3), "b": sliced(4)}, default="", fallbacks=("empty",)), "1"),
        (PluginChart(configs={"a": sliced(3)}, default="b"), None),
        (PluginChart(configs=None, external="missing"), None),
    ],
    ids=["no-configs", "the-only-one", "named-default", "nothing-to-choose-by", "empty", "no-such-default", "no-map"],
)
@virtual
async def test_what_a_node_without_a_label_gets(chart: PluginChart, count: str | None) -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, chart)
        assert offered(sandbox) == (count, count)


@virtual
async def test_without_config_manager_the_label_has_no_effect() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, PluginChart(configs=None), label="ts-4")
        assert offered(sandbox) == ("1", "1")
        assert [each["name"] for each in plugin_pod(sandbox)["spec"]["containers"]] == ["nvidia-device-plugin-ctr"]


@virtual
async def test_the_operators_plugin_does_the_same_under_other_names() -> None:
    chart = replace(CHART, flavour=OPERATOR, namespace="gpu-operator")
    async with Sandbox() as sandbox:
        await joined(sandbox, chart, label="ts-4")
        assert offered(sandbox) == (None, None)
        await sandbox.admin.merge(NODES, "", "n", {"metadata": {"labels": {DEPLOY_LABEL: "true"}}})
        await anyio.sleep(30)
        assert offered(sandbox) == ("4", "4")
        (found,) = sandbox.store.all(PODS)
        assert [each["name"] for each in found["spec"]["containers"]] == ["nvidia-device-plugin", "config-manager"]
        assert found["metadata"]["labels"]["app"] == "nvidia-device-plugin-daemonset"


@virtual
async def test_a_restarted_kubelet_knows_the_name_and_no_device_until_the_plugin_is_back() -> None:
    """Pods that run keep their GPU; one that comes meanwhile is refused."""
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-2", switch_seconds=20.0)
        await sandbox.admin.create(PODS, "default", pod("old", {GPU: "1"}, nodeName="n"))
        await anyio.sleep(2)
        await sandbox.restart_kubelet("n")
        await anyio.sleep(5)
        assert offered(sandbox) == ("0", "0")
        await sandbox.admin.create(PODS, "default", pod("new", {GPU: "1"}, nodeName="n"))
        await anyio.sleep(60)
        assert offered(sandbox) == ("2", "2")
        assert phase(sandbox, "old") == ("Running", None)
        assert phase(sandbox, "new") == ("Failed", "UnexpectedAdmissionError")


@virtual
async def test_more_than_there_is_is_refused_by_the_device_manager() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-2")
        for name in ("a", "b", "c"):
            await sandbox.admin.create(PODS, "default", pod(name, {GPU: "1"}, nodeName="n"))
            await anyio.sleep(2)
        assert phase(sandbox, "c") == ("Failed", "UnexpectedAdmissionError")
        await sandbox.admin.delete(PODS, "default", "a")
        await anyio.sleep(40)
        await sandbox.admin.create(PODS, "default", pod("d", {GPU: "1"}, nodeName="n"))
        await anyio.sleep(2)
        assert phase(sandbox, "d") == ("Running", None)


@virtual
async def test_a_node_replaced_under_its_name_has_a_plugin_of_its_own() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4", lost_races=1)
        old = plugin_pod(sandbox)["metadata"]["uid"]
        await sandbox.replace_node("n")
        await anyio.sleep(90)
        assert plugin_pod(sandbox)["metadata"]["uid"] != old
        assert offered(sandbox)[1] == "0", "and the same luck"


async def _busy(seed: int) -> list[str]:
    """An hour with everything in it, call by call."""
    async with Sandbox(seed=seed) as sandbox:
        await joined(sandbox, label="ts-4", lost_races=1, switch_seconds=3.0)
        sandbox.contest(LabelWriter(node="n", value="ts-4", delay=20.0, times=3))
        for config in ("ts-2", "nowhere", "shared", None):
            await choose(sandbox, config)
            await anyio.sleep(300)
        await sandbox.restart_kubelet("n")
        await anyio.sleep(300)
        return [f"{call.at} {call}" for call in sandbox.record.calls]


def test_the_same_story_is_the_same_to_the_last_call() -> None:
    first, second = (run_virtual(lambda: _busy(7)) for _ in range(2))
    assert first == second


@virtual
async def test_the_configs_of_the_tests_are_all_in_the_map() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox)
        for name in CONFIGS:
            await choose(sandbox, name)
            await anyio.sleep(20)
        assert container(sandbox, "sidecar")["restartCount"] == 0
        assert node(sandbox, "n")["metadata"]["labels"][CONFIG_LABEL] == "one"
