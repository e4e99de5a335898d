"""sandbox: in which ways a device plugin does not follow its label, and what can be seen of it."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.kinds import PODS
from reconciler.sandbox.plugin_chart import sliced
from reconciler.sandbox.plugin_script import GPU
from tests.sandbox.plugin_stories import (
    CHART,
    choose,
    container,
    edit,
    joined,
    offered,
    plugin_pod,
    states,
)
from tests.sandbox.stories import virtual


@virtual
async def test_a_key_that_is_not_there_ends_the_sidecar_and_the_old_config_is_served_on() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-2")
        await choose(sandbox, "ts-9")
        await anyio.sleep(30)
        assert states(sandbox) == ["Completed", "CrashLoopBackOff", "Running"]
        assert container(sandbox, "sidecar")["lastState"]["terminated"]["exitCode"] == 1
        assert "message" not in container(sandbox, "sidecar")["lastState"]["terminated"]
        assert sandbox.plugin("n").log[-1].endswith("specified config ts-9 does not exist")
        assert offered(sandbox) == ("2", "2")
        ready = {each["type"]: each["status"] for each in plugin_pod(sandbox)["status"]["conditions"]}
        assert ready["Ready"] == "False"


@virtual
async def test_a_new_pod_never_starts_with_a_key_that_is_not_there_until_the_key_is() -> None:
    """Init:CrashLoopBackOff; the mounted ConfigMap follows with the kubelet's delay."""
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-9")
        assert offered(sandbox) == (None, None)
        assert states(sandbox) == ["CrashLoopBackOff", "PodInitializing", "PodInitializing"]
        assert plugin_pod(sandbox)["status"]["phase"] == "Pending"
        await edit(sandbox, {"ts-9": sliced(9)})
        await anyio.sleep(200)
        assert offered(sandbox) == ("9", "9")


@virtual
async def test_a_key_is_not_there_before_the_kubelet_has_copied_it() -> None:
    """Added and labelled at once: the sidecar crashes, waits, and finds it the next time."""
    async with Sandbox() as sandbox:
        await joined(sandbox)
        await edit(sandbox, {"ts-9": sliced(9)})
        await choose(sandbox, "ts-9")
        await anyio.sleep(5)
        assert states(sandbox, "sidecar") == ["CrashLoopBackOff"]
        await anyio.sleep(120)
        assert offered(sandbox) == ("9", "9")


@virtual
async def test_one_replica_ends_the_plugin_again_and_again() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox)
        await choose(sandbox, "one")
        await anyio.sleep(60)
        assert states(sandbox) == ["Completed", "Running", "CrashLoopBackOff"]
        assert sandbox.plugin("n").log[-1].endswith("number of replicas must be >= 2")
        assert offered(sandbox) == ("1", "0")
        await anyio.sleep(300)
        assert offered(sandbox) == ("0", "0")
        await choose(sandbox, "ts-2")
        await anyio.sleep(330)
        assert offered(sandbox) == ("2", "2")


@virtual
async def test_the_race_after_the_start_leaves_nothing_until_the_pod_is_replaced() -> None:
    """k8s-device-plugin #1645: all containers run and are ready, and nothing is allocatable."""
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4", lost_races=1)
        assert offered(sandbox)[1] == "0"
        assert states(sandbox) == ["Completed", "Running", "Running"]
        await anyio.sleep(900)
        assert offered(sandbox) == ("0", "0")
        await sandbox.admin.delete(PODS, CHART.namespace, plugin_pod(sandbox)["metadata"]["name"])
        await anyio.sleep(30)
        assert offered(sandbox) == ("4", "4")


@pytest.mark.parametrize(
    ("script", "count", "sidecar", "plugin"),
    [
        ({"labelled": False}, None, "", ""),
        ({"config_manager_error": "nodes is forbidden"}, None, "PodInitializing", "PodInitializing"),
        ({"plugin_error": "Failed to initialize NVML"}, None, "Running", "CrashLoopBackOff"),
        ({"serves": {}}, None, "Running", "Running"),
        ({"serves": {GPU: 3}}, "3", "Running", "Running"),
        ({"start_seconds": 3600.0}, None, "Running", "Running"),
    ],
    ids=["no-pod", "config-manager", "plugin", "no-devices", "another-count", "slow"],
)
@virtual
async def test_what_else_goes_wrong(script: dict[str, Any], count: str | None, sidecar: str, plugin: str) -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4", **script)
        assert offered(sandbox) == (count, count)
        if sidecar:
            assert states(sandbox, "sidecar", "ctr") == [sidecar, plugin]
        else:
            assert sandbox.store.all(PODS) == []


@virtual
async def test_what_goes_wrong_can_be_put_right() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4", plugin_error="Failed to initialize NVML")
        host = sandbox.plugin("n")
        host.script = replace(host.script, plugin_error="")
        await anyio.sleep(120)
        assert offered(sandbox) == ("4", "4")


@virtual
async def test_a_config_taken_away_under_a_node_breaks_its_next_switch() -> None:
    """The link leads nowhere, so the config-manager can neither keep nor replace it."""
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-4")
        await edit(sandbox, {"ts-4": None})
        await anyio.sleep(120)
        assert offered(sandbox) == ("4", "4")
        await choose(sandbox, "ts-2")
        await anyio.sleep(60)
        assert states(sandbox, "sidecar") == ["CrashLoopBackOff"]
        assert sandbox.plugin("n").log[-1].endswith("error creating symlink: file exists")
        assert offered(sandbox) == ("4", "4")
