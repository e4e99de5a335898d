"""Where does the scheduler put pods, and how does it say that it cannot?"""

from collections import Counter
from contextlib import ExitStack

import pytest

from tests.contract.world import (
    MEMORY,
    STRATEGIC,
    Json,
    World,
    bare_node,
    eventually,
    get,
    items,
    make,
    node_of,
    patch,
    pod,
    pods_path,
)

HELPLESS = "no new claims to deallocate, preemption: 0/{count} nodes are available: {why}."
NO_HELP = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


def why_not(world: World, name: str) -> str:
    conditions = get(world, pods_path(world, name))["status"].get("conditions", [])
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def deployment(name: str, replicas: int, limits: dict[str, str]) -> Json:
    template = pod(name, limits)
    labels = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    template["metadata"].pop("name")
    return {"metadata": {"name": name}, "spec": spec}


def test_pods_that_ask_for_gpu_memory_land_where_it_is_and_only_as_many_as_fit(world: World) -> None:
    """Starting point A: memory alone decides."""
    with bare_node(world), bare_node(world, {MEMORY: "416Mi"}) as full, bare_node(world, {MEMORY: "208Mi"}) as small:
        make(world, f"/apis/apps/v1/namespaces/{world.namespace}/deployments", deployment("dev", 8, {MEMORY: "104Mi"}))
        wanted = {full.rpartition("/")[2]: 4, small.rpartition("/")[2]: 2, None: 2}

        def placed() -> Counter[str | None]:
            return Counter(each["spec"].get("nodeName") for each in items(world, pods_path(world)))

        eventually(world, lambda: placed() == wanted, "6 pods are placed by memory and 2 wait")
        text = f"0/3 nodes are available: 3 Insufficient {MEMORY}."
        waiting = [each["metadata"]["name"] for each in items(world, pods_path(world), fieldSelector="spec.nodeName=")]
        eventually(world, lambda: all(why_not(world, name).startswith(text) for name in waiting), "they say why")
        # A new figure is enough: nobody has to kick the scheduler.
        patch(world, f"{full}/status", {"status": {"allocatable": {MEMORY: "624Mi"}}})
        eventually(world, lambda: None not in placed(), "all are placed")


@pytest.mark.parametrize(
    ("asked", "reasons", "help"),
    [
        (
            pod("p", {MEMORY: "200Mi"}),
            "1 Too many pods, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
            f"3 Insufficient {MEMORY}",
            f"5 {NO_HELP}",
        ),
        (
            pod("p", {MEMORY: "200Mi", "cpu": "100"}),
            "1 Too many pods, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
            f"3 Insufficient cpu, 3 Insufficient {MEMORY}",
            f"5 {NO_HELP}",
        ),
        (
            pod("p", {MEMORY: "50Mi"}, nodeSelector={"x": "y"}),
            "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
            "3 node(s) didn't match Pod's node affinity/selector",
            f"5 {NO_HELP}",
        ),
    ],
)
def test_a_pod_that_fits_nowhere_says_why_in_the_schedulers_words(
    asked: Json, reasons: str, help: str, world: World
) -> None:
    with ExitStack() as nodes:
        nodes.enter_context(bare_node(world, {MEMORY: "100Mi"}))
        nodes.enter_context(bare_node(world))
        nodes.enter_context(bare_node(world, {"pods": "0"}))
        patch(
            world, nodes.enter_context(bare_node(world)), {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
        )
        patch(world, nodes.enter_context(bare_node(world)), {"spec": {"unschedulable": True}})
        # The controllers taint an unschedulable node as well; both belong to the picture before the pod comes.
        world.pause(1)
        make(world, pods_path(world), asked)
        tail = HELPLESS.format(count=5, why=help)
        eventually(world, lambda: why_not(world, "p"), "the scheduler says why")
        assert why_not(world, "p") == f"0/5 nodes are available: {reasons}. {tail}"


def test_a_node_that_is_only_full_might_be_helped(world: World) -> None:
    """What would fit an empty node is another kind of no."""
    with bare_node(world, {MEMORY: "100Mi"}):
        make(world, pods_path(world), pod("first", {MEMORY: "80Mi"}))
        eventually(world, lambda: node_of(world, "first"), "it is placed")
        make(world, pods_path(world), pod("second", {MEMORY: "80Mi"}))
        eventually(world, lambda: why_not(world, "second"), "the scheduler says why")
        tail = HELPLESS.format(count=1, why=f"1 {NO_VICTIMS}")
        assert why_not(world, "second") == f"0/1 nodes are available: 1 Insufficient {MEMORY}. {tail}"


def test_tolerations_affinity_and_a_node_named_by_field_are_obeyed(world: World) -> None:
    with bare_node(world, kind="plain"), bare_node(world, kind="gpu") as path:
        node = path.rpartition("/")[2]
        taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
        patch(world, path, {"spec": {"taints": [taint]}})
        world.pause(1)
        tolerations = [{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
        expression = {"key": "kind", "operator": "In", "values": ["gpu"]}
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        for name, term in (("labelled", {"matchExpressions": [expression]}), ("named", {"matchFields": [field]})):
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            affinity = {"nodeAffinity": required}
            make(world, pods_path(world), pod(name, affinity=affinity, tolerations=tolerations))
            make(world, pods_path(world), pod(f"{name}-not", affinity=affinity))
        eventually(world, lambda: node_of(world, "labelled") == node_of(world, "named") == node, "both are placed")
        for name in ("labelled-not", "named-not"):
            assert node_of(world, name) is None


def test_a_binding_sticks(world: World) -> None:
    """201; a second one is a 409 that names the node; one for nobody is a 404."""
    with bare_node(world) as path:
        node = path.rpartition("/")[2]
        make(world, pods_path(world), pod("mine", schedulerName="nobody"))
        for name, status in (("mine", 201), ("mine", 409), ("none", 404)):
            body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            answer = world.request("POST", pods_path(world, name, "binding"), body)
            assert answer.status == status, answer
        unnamed = world.request("POST", pods_path(world, "mine", "binding"), {"target": {"kind": "Node", "name": node}})
        assert unnamed.gist == (400, "BadRequest", "name in URL does not match name in Binding object")
        conditions = get(world, pods_path(world, "mine"))["status"]["conditions"]
        assert [(each["type"], each["status"]) for each in conditions] == [("PodScheduled", "True")]
        answer = world.request("PATCH", pods_path(world, "mine"), {"spec": {"nodeName": "other"}}, STRATEGIC)
        assert (answer.status, answer.body["reason"]) == (422, "Invalid")
        assert "pod updates may not change fields other than" in answer.body["message"]
