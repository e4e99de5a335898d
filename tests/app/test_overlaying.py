"""cli/overlays.py and app/overlaying.py: manifests for people and Git, of a file and of a cluster over a socket."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from reconciler.app import overlaying
from reconciler.app.process import NotInTime
from reconciler.cli import app
from reconciler.kube.trouble import Trouble
from reconciler.model.overlay import OverlayReason
from reconciler.runtime.transport import Response
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.http import HttpServer
from reconciler.sandbox.kinds import NAMESPACES, NODEOVERLAYS, NODEPOOLS
from reconciler.settings.load import load

MEMORY = "veriff.com/gpu-memory"
SETTINGS = {"GPU_RECONCILER_CAPACITY__RESOURCE": MEMORY}
TAKES = 30.0
SPEC = {
    "weight": 10,
    "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g4dn.xlarge"]}],
    "capacity": {MEMORY: "14592Mi"},
}
T4 = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": {
        "name": "gpu-reconciler-memory-14592mi",
        "labels": {"gpu-reconciler.io/overlay": "memory", "app.kubernetes.io/name": "gpu-reconciler"},
    },
    "spec": SPEC,
}

JUDGED = {"status": {"conditions": [{"type": "ValidationSucceeded", "status": "True"}]}}


def pool(name: str = "dev", *kinds: str, group: str = "karpenter.k8s.aws") -> dict[str, Any]:
    only = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(kinds or ["g4dn.xlarge"])}
    spec = {"template": {"spec": {"nodeClassRef": {"group": group}, "requirements": [only]}}}
    return {"kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def call(*words: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["overlays", *words], input=stdin, env={**SETTINGS, **(environment or {})})


def listed(*items: dict[str, Any]) -> str:
    return json.dumps({"kind": "List", "items": list(items)}, indent=1)


def test_manifests_are_printed_as_kubectl_takes_them() -> None:
    result = call("--from", "-", "-o", "yaml", stdin=listed(pool("dev", "g4dn.xlarge", "g5.xlarge")))
    assert (result.exit_code, result.stderr) == (0, "")
    printed = list(yaml.safe_load_all(result.stdout))
    assert printed[0] == T4
    assert [one["metadata"]["name"] for one in printed] == [
        "gpu-reconciler-memory-14592mi",
        "gpu-reconciler-memory-21743mi",
    ]


def test_for_people_each_overlay_says_what_would_be_done_about_it() -> None:
    old = {
        **T4,
        **JUDGED,
        "metadata": {"name": "gpu-reconciler-memory-1mi", "labels": {"gpu-reconciler.io/overlay": "memory"}},
    }
    items = [
        pool("dev", "g4dn.xlarge", "g5.xlarge", "g6f.large"),
        pool("auto", group="eks.amazonaws.com"),
        {**T4, **JUDGED},
        old,
    ]
    result = call("--from", "-", "--slices", stdin=listed(*items))
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "gpu-reconciler-memory-14592mi (stands)",
        "  veriff.com/gpu-memory=14592Mi, weight 10",
        "  g4dn.xlarge",
    ]
    assert "gpu-reconciler-memory-21743mi (make)" in lines
    assert lines[-4:-1] == [
        "gpu-reconciler-gpus-1-in-dev (make)",
        "  nvidia.com/gpu=1, NodePool dev only, weight 10",
        "  g6f.large",
    ]
    assert lines[-1] == "gpu-reconciler-memory-1mi (to be removed)"
    assert result.stderr.startswith("AutoMode: NodePool auto is EKS Auto Mode's")


def test_for_programs_there_is_one_object() -> None:
    weight_differs = {**T4, **JUDGED, "spec": {**SPEC, "weight": 1}}
    answer = json.loads(call("--from", "-", "-o", "json", stdin=listed(pool(), weight_differs)).stdout)
    assert answer == {
        "overlays": [T4],
        "changes": [{"name": "gpu-reconciler-memory-14592mi", "change": "change"}],
        "findings": [],
    }
    several = json.loads(call("--from", "-", "-o", "json", stdin=listed(pool("dev", "g5.12xlarge"))).stdout)
    [finding] = several["findings"]
    assert (finding["reason"], finding["warning"]) == ("NothingToTell", False)


def test_where_nothing_is_needed_it_says_so() -> None:
    result = call("--from", "-", stdin=listed(pool("dev", "m5.large")))
    assert (result.exit_code, result.stdout) == (0, "no overlay is needed\n")


def test_a_probed_node_in_the_file_lowers_what_it_falls_short_of() -> None:
    record = {"v": 1, "resource": MEMORY, "advertisedMiB": 14353, "source": "nvml", "gpu": "T4", "count": 1}
    record |= {"ec2MiB": 16384, "bootID": "b", "serial": 0}
    node = {
        "kind": "Node",
        "metadata": {
            "name": "a",
            "labels": {"node.kubernetes.io/instance-type": "g4dn.xlarge"},
            "annotations": {"gpu-reconciler.io/capacity": json.dumps(record)},
        },
        "status": {"conditions": [{"type": "GPUMemoryReady", "status": "True", "reason": "Verified"}]},
    }
    result = call("--from", "-", stdin=listed(pool(), node))
    assert result.stdout.splitlines()[0] == "gpu-reconciler-memory-14353mi (make)"


def test_rules_for_sharing_count_as_if_our_profiles_were_installed() -> None:
    rules = {"GPU_RECONCILER_SLICING__RULES": json.dumps([{"node_pools": ["dev"], "replicas": 4}])}
    result = call("--from", "-", "--slices", stdin=listed(pool()), environment=rules)
    assert "gpu-reconciler-gpus-4-in-dev (make)" in result.stdout
    assert "gpus" not in call("--from", "-", "--no-slices", stdin=listed(pool()), environment=rules).stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (listed(), "- holds no NodePool"),
        ("{", "line 1"),
        (listed({"kind": "Node", "metadata": {"name": "a"}}), "NodePool"),
    ],
)
def test_a_file_of_something_else_ends_the_command(content: str, says: str) -> None:
    result = call("--from", "-", stdin=content)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "kubectl get nodepools,nodeoverlays" in result.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = call("--from", str(tmp_path / "missing.json"))
    assert (result.exit_code, "missing.json" in result.stderr) == (2, True)


@pytest.mark.anyio
async def test_a_cluster_is_asked_once_and_nothing_is_written(tmp_path: Path) -> None:
    """Its own figures count, and what is absent is said by the plan."""
    async with Sandbox() as sandbox:
        tokens = {"secret-token": "gpu-reconciler"}
        async with HttpServer(sandbox.api, tokens, record=sandbox.record, faults=sandbox.faults) as server:
            kubeconfig = tmp_path / "kubeconfig"
            kubeconfig.write_text(server.kubeconfig("gpu-reconciler"))
            settings = load({**SETTINGS, "GPU_RECONCILER_KUBERNETES__KUBECONFIG": str(kubeconfig)})
            await sandbox.admin.create(NAMESPACES, "", {"metadata": {"name": "gpu-reconciler"}})
            troubles: list[Trouble] = []

            async def look(slices: bool | None = None) -> Any:
                return await overlaying.of_cluster(settings, troubles.append, slices=slices, within=TAKES)

            assert (await look()).wanted == ()
            await sandbox.install_karpenter((NODEPOOLS,))
            await sandbox.admin.create(NODEPOOLS, "", {key: value for key, value in pool().items() if key != "kind"})
            without = await look(slices=True)
            assert [one.name for one in without.wanted] == ["gpu-reconciler-memory-14592mi"]
            assert [finding.reason for finding in without.findings] == [OverlayReason.NO_KIND]

            await sandbox.install_karpenter((NODEOVERLAYS,))
            plan = await look()
            assert (len(plan.actions), plan.findings) == (1, ())
            assert sandbox.record.writes("gpu-reconciler") == []

            sandbox.faults.add(Answer(Response(503, b"")), path="/nodes")
            with pytest.raises(NotInTime, match="Node"):
                await overlaying.of_cluster(settings, troubles.append, slices=None, within=1)
