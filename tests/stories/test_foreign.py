"""What is not ours stays byte for byte (invariant I6): whole objects are compared, less our own keys."""

import re
from copy import deepcopy
from typing import Any

import anyio
import pytest

from reconciler.model import names
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.kinds import CONFIGMAPS, NODES, PODS
from reconciler.sandbox.machine import Machine
from tests.stories import gpus
from tests.stories.stage import NAMESPACE, Stage, stage
from tests.stories.telling import virtual

STRANGE: Json = {
    "labels": {
        "nvidia.com/gpu.memory": "15360",
        "nvidia.com/device-plugin.config": "ts-4",
        "gpu-reconciler.io/somebody-elses": "on-our-domain_yet.none-of-ours",
    },
    "annotations": {
        "example.com/json": '{"b":1,  "a":[ 1.0, 1e3 ],"ü":"\\u00fc \\n"}',
        "example.com/empty": "",
        "gpu-reconciler.io/note": "by hand",
    },
}
FOREIGN_TAINTS: list[Json] = [
    {"key": "example.com/first", "effect": "NoSchedule"},
    {"key": names.STARTUP_TAINT, "effect": "NoSchedule"},
    {"key": "example.com/value", "value": "x", "effect": "PreferNoSchedule"},
    {"key": "example.com/timed", "effect": "NoExecute", "timeAdded": "2026-01-05T07:00:00Z"},
    {"key": "example.com/first", "effect": "PreferNoSchedule"},
]
RESOURCES = {"example.com/fpga": "3", "example.com/fractional-looking": "1500", "hugepages-2Mi": "64Mi"}


def foreign(node: Json) -> bytes:
    """All of a node that is nobody's but others', as the server stores it."""
    rest = deepcopy(node)
    meta, status = rest["metadata"], rest["status"]
    for key in ("resourceVersion", "managedFields"):
        meta.pop(key, None)
    for key in names.OUR_LABELS:
        meta["labels"].pop(key, None)
    meta["annotations"].pop(names.RECORD, None)
    for part in ("capacity", "allocatable"):
        status[part].pop(names.MEMORY_RESOURCE, None)
    status["conditions"] = [one for one in status["conditions"] if one["type"] != names.CONDITION]
    for one in status["conditions"]:
        one.pop("lastHeartbeatTime", None)
    taints = [one for one in rest["spec"].get("taints") or [] if one["key"] != names.STARTUP_TAINT]
    rest["spec"]["taints"] = taints
    return encode(rest)


async def dressed(play: Stage, machine: Machine) -> None:
    """A node with everything on it that others may put there; its kubelet has come to rest."""
    await play.sandbox.add_node("a", machine)
    await anyio.sleep(20)
    await play.admin.merge(NODES, "", "a", {"metadata": STRANGE, "spec": {"taints": FOREIGN_TAINTS}})
    status: Json = {"capacity": RESOURCES, "allocatable": RESOURCES}
    status["conditions"] = [{"type": "example.com/Odd", "status": "Unknown", "reason": "Because", "message": "ü"}]
    await play.admin.strategic(NODES, "", "a", {"status": status}, subresource="status")
    await anyio.sleep(20)


CASES: list[Any] = [
    pytest.param("g4dn.xlarge", CapacityPolicy(), id="advertised"),
    pytest.param("g4ad.xlarge", CapacityPolicy(), id="not NVIDIA"),
    pytest.param("g4dn.12xlarge", CapacityPolicy(), id="several GPUs"),
    pytest.param("g4dn.12xlarge", CapacityPolicy(multi_gpu=MultiGpu.SUM), id="their sum"),
    pytest.param("m5.large", CapacityPolicy(), id="no GPU"),
]


@pytest.mark.parametrize(("kind", "policy"), CASES)
@virtual
async def test_what_others_put_on_a_node_is_the_same_before_during_and_after(kind: str, policy: CapacityPolicy) -> None:
    async with stage(start=False, policy=policy) as play:
        await dressed(play, gpus.machine(kind))
        before = foreign(play.node())
        await play.start()
        await anyio.sleep(60)
        assert foreign(play.node()) == before
        assert names.STARTUP_TAINT not in play.taints(), "we did come by"

        await play.set_resource("a", None)
        await anyio.sleep(60)
        assert foreign(play.node()) == before


@virtual
async def test_a_node_that_is_none_of_our_business_is_not_touched_at_all() -> None:
    async with stage() as play:
        await play.join("a", gpus.machine("m5.large", gpus=0))
        assert [str(call) for call in play.writes() if "/nodes/" in call.path or "/events" in call.path] == []


@virtual
async def test_withdrawing_leaves_no_trace_of_the_resource_and_the_rest_as_it_was() -> None:
    """The node turns out to be cut into MIG devices: both keys go, and nothing else does."""
    async with stage(start=False) as play:
        mig = (names.MIG_CONFIG, names.MIG_CONFIG_STATE)
        await dressed(play, gpus.machine())
        before = foreign(play.node())
        await play.start()
        await anyio.sleep(60)
        assert play.advertised() == gpus.T4_MIB
        await play.admin.merge(NODES, "", "a", {"metadata": {"labels": dict.fromkeys(mig, "all-1g.5gb")}})
        await anyio.sleep(10)
        assert (play.advertised(), play.reason()) == (None, "False/MIG")
        await play.admin.merge(NODES, "", "a", {"metadata": {"labels": dict.fromkeys(mig)}})
        await anyio.sleep(30)
        assert foreign(play.node()) == before


@virtual
async def test_pods_and_config_maps_of_others_are_never_written() -> None:
    async with stage(start=False) as play:
        await play.sandbox.put_configmap(NAMESPACE, "device-plugin", {"ts-4": "version: v1"})
        await play.sandbox.add_node("a", gpus.machine())
        await play.pod("p", 1000, node="a", resource="example.com/fpga")
        await anyio.sleep(30)
        before = [play.object(CONFIGMAPS, "device-plugin", NAMESPACE), play.object(PODS, "p", "default")]
        await play.start()
        await anyio.sleep(120)
        assert [play.object(CONFIGMAPS, "device-plugin", NAMESPACE), play.object(PODS, "p", "default")] == before
        objects = re.compile(
            r"/api/v1/nodes/a(/status)?|/api/v1/namespaces/default/events|/apis/batch/v1/namespaces/gpu-reconciler/jobs"
            r"|/api/v1/namespaces/gpu-reconciler/configmaps(/gpu-reconciler-catalog)?"
        )
        assert [str(call) for call in play.writes() if not objects.fullmatch(call.path)] == []
