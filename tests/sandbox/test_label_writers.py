"""sandbox: somebody else writes the label, and managedFields say who."""

import anyio
import pytest

from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.host_plugins import auto_mode, bottlerocket
from reconciler.sandbox.kinds import CONFIGMAPS, NODES
from reconciler.sandbox.label_writer import LabelWriter
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_script import CONFIG_LABEL, GPU, PluginScript
from tests.sandbox.conftest import Server
from tests.sandbox.plugin_stories import choose, joined, offered
from tests.sandbox.stories import node, virtual


def label(sandbox: Sandbox) -> str | None:
    found: str | None = node(sandbox, "n")["metadata"]["labels"].get(CONFIG_LABEL)
    return found


def owners(obj: Json, *path: str) -> list[str]:
    """The managers of a field."""
    found = []
    for entry in obj["metadata"].get("managedFields", []):
        fields = entry["fieldsV1"]
        for part in path:
            fields = fields.get(f"f:{part}") if isinstance(fields, dict) else None
        if fields is not None:
            found.append(entry["manager"])
    return found


@virtual
async def test_who_puts_the_label_back_has_its_name_on_it() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox, label="ts-2")
        assert owners(node(sandbox, "n"), "metadata", "labels", CONFIG_LABEL) == ["kubelet"]
        scope = sandbox.contest(LabelWriter(node="n", value="ts-2", manager="argocd-controller", delay=5.0))
        await choose(sandbox, "ts-4")
        assert owners(node(sandbox, "n"), "metadata", "labels", CONFIG_LABEL) == ["kubectl"]
        await anyio.sleep(6)
        assert (label(sandbox), owners(node(sandbox, "n"), "metadata", "labels", CONFIG_LABEL)) == (
            "ts-2",
            ["argocd-controller"],
        )
        scope.cancel()
        await choose(sandbox, "ts-4")
        await anyio.sleep(60)
        assert (label(sandbox), offered(sandbox)) == ("ts-4", ("4", "4"))


@virtual
async def test_a_writer_may_remove_the_label_and_tire() -> None:
    async with Sandbox() as sandbox:
        await joined(sandbox)
        sandbox.contest(LabelWriter(node="n", value=None, times=2))
        seen = []
        for _ in range(3):
            await choose(sandbox, "ts-4")
            await anyio.sleep(10)
            seen.append(label(sandbox))
        assert seen == [None, None, "ts-4"]


@virtual
async def test_an_edited_configmap_says_when() -> None:
    async with Sandbox() as sandbox:
        await sandbox.put_configmap("default", "c", {"a": "1", "b": "1"})
        await anyio.sleep(100)
        await sandbox.client("x").merge(CONFIGMAPS, "default", "c", {"data": {"b": "2"}})
        found = sandbox.store.get(CONFIGMAPS, "default/c")
        assert found is not None
        first, second = found["metadata"]["managedFields"]
        assert (first["manager"], second["manager"]) == ("kubectl", "x")
        assert (owners(found, "data", "a"), owners(found, "data", "b")) == (["kubectl"], ["x"])
        assert first["time"] == found["metadata"]["creationTimestamp"] != second["time"]


def test_a_manager_who_says_nothing_is_unknown_and_a_status_write_is_an_entry_of_its_own(server: Server) -> None:
    server.make("/api/v1/nodes", {"metadata": {"name": "n", "labels": {"a": "1"}}})
    server.merge("/api/v1/nodes/n/status", {"metadata": {"labels": {"a": "2", "b": "1"}}})
    found = server.merge("/api/v1/nodes/n", {"metadata": {"labels": {"a": None}}})[1]
    assert found["metadata"]["managedFields"] == [
        {
            "manager": "unknown",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:b": {}}}},
            "subresource": "status",
        }
    ]


@pytest.mark.parametrize(
    ("machine", "counts"),
    [
        (bottlerocket(Machine(), replicas=4), {"nvidia.com/gpu.shared": "4"}),
        (bottlerocket(Machine(), replicas=4, renamed=False), {GPU: "4"}),
        (bottlerocket(Machine(plugin=PluginScript())), {GPU: "1"}),
        (auto_mode(Machine()), {GPU: "1"}),
    ],
)
@virtual
async def test_a_plugin_of_the_host_has_no_pod_and_follows_no_label(machine: Machine, counts: dict[str, str]) -> None:
    async with Sandbox() as sandbox:
        await sandbox.install_device_plugin()
        await sandbox.add_node("n", machine)
        await sandbox.admin.merge(NODES, "", "n", {"metadata": {"labels": {CONFIG_LABEL: "ts-2"}}})
        await anyio.sleep(60)
        offered = node(sandbox, "n")["status"]["allocatable"]
        assert {name: count for name, count in offered.items() if name.startswith("nvidia.com/")} == counts
