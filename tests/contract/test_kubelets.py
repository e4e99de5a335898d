"""What do kubelets do with a resource that they do not own, and with pods?"""

import pytest

from tests.contract.world import (
    MEMORY,
    SYNCED,
    Json,
    Node,
    World,
    eventually,
    get,
    make,
    patch,
    pod,
    pods_path,
    state,
    until_gone,
    until_state,
)


def amounts(world: World, node: Node) -> tuple[str | None, str | None]:
    status = get(world, f"/api/v1/nodes/{node.name}")["status"]
    return status["capacity"].get(MEMORY), status["allocatable"].get(MEMORY)


def advertise(world: World, node: Node, capacity: str | None, allocatable: str | None) -> None:
    change: Json = {"status": {"capacity": {MEMORY: capacity}, "allocatable": {MEMORY: allocatable}}}
    patch(world, f"/api/v1/nodes/{node.name}/status", change)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (("15079Mi", None), ("15079Mi", "15079Mi")),
        (("15079Mi", "14000Mi"), ("15079Mi", "15079Mi")),
        ((None, "14000Mi"), (None, None)),
        (("15079Mi", "15079Mi"), ("15079Mi", "15079Mi")),
    ],
    ids=["capacity-alone-is-copied", "lower-is-raised", "allocatable-alone-goes", "both-stay"],
)
def test_the_kubelet_keeps_allocatable_as_capacity(
    given: tuple[str | None, str | None], kept: tuple[str | None, str | None], world: World
) -> None:
    """With its next sync."""
    node = world.kubelet()
    advertise(world, node, *given)
    assert amounts(world, node) == given
    eventually(world, lambda: amounts(world, node) == kept, "the kubelet syncs", 15)
    world.pause(SYNCED)
    assert amounts(world, node) == kept


def test_what_is_removed_from_both_stays_removed(world: World) -> None:
    node = world.kubelet()
    advertise(world, node, "15079Mi", "15079Mi")
    world.pause(SYNCED)
    advertise(world, node, None, None)
    world.pause(SYNCED)
    assert amounts(world, node) == (None, None)


@pytest.mark.parametrize(("zeroes", "after"), [(True, "0"), (False, "15079Mi")])
def test_a_kubelet_that_lost_its_checkpoint_zeroes_the_resource(zeroes: bool, after: str, world: World) -> None:
    """Present with "0" in both maps, not absent, and for good."""
    node = world.kubelet(zeroes=zeroes)
    advertise(world, node, "15079Mi", "15079Mi")
    node.restart(zeroes=zeroes)
    eventually(world, lambda: amounts(world, node) == (after, after), f"both are {after}", 15)
    world.pause(SYNCED)
    assert amounts(world, node) == (after, after)


@pytest.mark.parametrize(
    ("advertised", "outcome"),
    [
        (None, ("Running", None)),
        ("0", ("Failed", f"OutOf{MEMORY}")),
        ("100Mi", ("Failed", f"OutOf{MEMORY}")),
        ("104Mi", ("Running", None)),
    ],
)
def test_absent_is_admitted_and_zero_is_refused(
    advertised: str | None, outcome: tuple[str, str | None], world: World
) -> None:
    """A pod that is bound past the scheduler shows what the kubelet itself thinks."""
    node = world.kubelet()
    advertise(world, node, advertised, advertised)
    world.pause(1)
    make(world, pods_path(world), pod("p", {MEMORY: "104Mi"}, nodeName=node.name))
    until_state(world, "p", *outcome)


def test_a_refusal_says_what_was_asked_used_and_there(world: World) -> None:
    node = world.kubelet()
    advertise(world, node, "200Mi", "200Mi")
    world.pause(1)
    make(world, pods_path(world), pod("first", {MEMORY: "104Mi"}, nodeName=node.name))
    until_state(world, "first", "Running")
    make(world, pods_path(world), pod("second", {MEMORY: "104Mi"}, nodeName=node.name))
    until_state(world, "second", "Failed", f"OutOf{MEMORY}")
    assert get(world, pods_path(world, "second"))["status"]["message"] == (
        f"Pod was rejected: Node didn't have enough resource: {MEMORY}, "
        "requested: 109051904, used: 109051904, capacity: 209715200"
    )


def test_too_many_pods_are_refused_too(world: World) -> None:
    node = world.kubelet(max_pods=1)
    make(world, pods_path(world), pod("first", nodeName=node.name))
    until_state(world, "first", "Running")
    make(world, pods_path(world), pod("second", nodeName=node.name))
    until_state(world, "second", "Failed", "OutOfpods")


def test_lowering_under_use_is_a_delayed_failure_of_the_youngest(world: World) -> None:
    """Nothing happens until the kubelet restarts; then admission runs again, oldest first."""
    node = world.kubelet()
    advertise(world, node, "208Mi", "208Mi")
    world.pause(1)
    for name in ("older", "younger"):
        make(world, pods_path(world), pod(name, {MEMORY: "104Mi"}, nodeName=node.name))
        until_state(world, name, "Running")
        world.pause(1.1)  # creation times have whole seconds
    advertise(world, node, "104Mi", "104Mi")
    world.pause(SYNCED)
    assert state(world, "younger")[0] == "Running"
    node.restart(zeroes=False)
    until_state(world, "younger", "Failed", f"OutOf{MEMORY}")
    assert state(world, "older")[0] == "Running"


def test_a_deleted_pod_is_gone_when_its_kubelet_has_stopped_it(world: World) -> None:
    node = world.kubelet()
    make(world, pods_path(world), pod("p", nodeName=node.name, terminationGracePeriodSeconds=5))
    until_state(world, "p", "Running")
    assert "deletionTimestamp" in world.request("DELETE", pods_path(world, "p")).body["metadata"]
    until_gone(world, pods_path(world, "p"))


def test_a_node_says_what_it_is(world: World) -> None:
    node = get(world, f"/api/v1/nodes/{world.kubelet().name}")
    assert {each["type"]: each["status"] for each in node["status"]["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert node["spec"]["providerID"].startswith("aws:///")
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "g4dn.xlarge"
    assert node["status"]["nodeInfo"]["bootID"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
