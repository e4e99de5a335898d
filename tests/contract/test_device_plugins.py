"""What does a node offer while NVIDIA's device plugin decides about it, and what can be seen of the plugin's pod?"""

from reconciler.sandbox.plugin_script import GPU
from tests.contract.plugins import (
    CONFIG,
    choose,
    container,
    edit,
    installed,
    offered,
    plugged,
    plugin_pods,
    until_offered,
    until_running,
    until_waiting,
)
from tests.contract.world import (
    MERGE,
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

SHARED = f"{GPU}.shared"


def test_a_label_switches_and_meanwhile_nothing_is_allocatable(world: World) -> None:
    """Capacity stays. A pod that comes meanwhile is refused for good, and one that runs goes on."""
    installed(world)
    node = plugged(world, gpus=2, switch_seconds=6.0)
    until_offered(world, node, "2", "2")
    make(world, pods_path(world), pod("before", {GPU: "1"}, nodeName=node.name))
    until_state(world, "before", "Running")
    choose(world, node, "ts-4")
    until_offered(world, node, "2", "0")
    make(world, pods_path(world), pod("meanwhile", {GPU: "1"}, nodeName=node.name))
    until_state(world, "meanwhile", "Failed", "UnexpectedAdmissionError")
    assert get(world, pods_path(world, "meanwhile"))["status"]["message"] == (
        "Pod was rejected: Allocate failed due to no healthy devices present; "
        f"cannot allocate unhealthy devices {GPU}, which is unexpected"
    )
    until_offered(world, node, "8", "8")
    assert state(world, "before") == ("Running", None)
    assert container(world, "nvidia-device-plugin-ctr")["restartCount"] == 0


def test_more_than_there_is_is_refused_by_the_device_manager(world: World) -> None:
    """A slice is another device than the whole GPU, so a node that was switched under a pod counts anew."""
    installed(world)
    node = plugged(world)
    until_offered(world, node, "1", "1")
    make(world, pods_path(world), pod("whole", {GPU: "1"}, nodeName=node.name))
    until_state(world, "whole", "Running")
    make(world, pods_path(world), pod("second", {GPU: "1"}, nodeName=node.name))
    until_state(world, "second", "Failed", "UnexpectedAdmissionError")
    assert get(world, pods_path(world, "second"))["status"]["message"] == (
        f"Pod was rejected: Allocate failed due to requested number of devices unavailable for {GPU}. "
        "Requested: 1, Available: 0, which is unexpected"
    )
    choose(world, node, "ts-2")
    until_offered(world, node, "2", "2")
    make(world, pods_path(world), pod("slices", {GPU: "2"}, nodeName=node.name))
    until_state(world, "slices", "Running")


def test_another_name_leaves_the_old_one_behind(world: World) -> None:
    installed(world)
    node = plugged(world, label="ts-2")
    until_offered(world, node, "2", "2")
    choose(world, node, "shared")
    until_offered(world, node, "4", "4", SHARED)
    until_offered(world, node, "2", "0")


def test_a_key_that_is_not_there_ends_the_sidecar_and_the_old_config_is_served_on(world: World) -> None:
    """What the pod's status says of it: a reason to wait, an exit status, and not why."""
    installed(world)
    node = plugged(world, label="ts-2")
    until_offered(world, node, "2", "2")
    choose(world, node, "ts-9")
    sidecar = until_waiting(world, "nvidia-device-plugin-sidecar", "CrashLoopBackOff")
    assert (sidecar["ready"], sidecar["restartCount"]) == (False, 1)
    ended = sidecar["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended.get("message")) == (1, "Error", None)
    assert container(world, "nvidia-device-plugin-ctr")["ready"] is True
    assert offered(world, node) == ("2", "2")


def test_a_new_pod_waits_for_a_key_that_is_not_there(world: World) -> None:
    installed(world)
    node = plugged(world, label="ts-9")
    init = until_waiting(world, "nvidia-device-plugin-init", "CrashLoopBackOff")
    assert init["lastState"]["terminated"]["exitCode"] == 1
    (found,) = plugin_pods(world)
    assert found["status"]["phase"] == "Pending"
    initialized = next(each for each in found["status"]["conditions"] if each["type"] == "Initialized")
    assert initialized["status"] == "False"
    assert container(world, "nvidia-device-plugin-ctr")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert offered(world, node) == (None, None)
    edit(world, {"ts-9": CONFIG["ts-4"]})
    until_offered(world, node, "4", "4", seconds=120)


def test_an_edited_key_is_not_noticed_but_a_new_pod_reads_it(world: World) -> None:
    """The DaemonSet replaces a pod that somebody deletes."""
    installed(world)
    node = plugged(world, label="ts-2")
    until_offered(world, node, "2", "2")
    edit(world, {"ts-2": CONFIG["ts-4"]})
    world.pause(8)
    assert offered(world, node) == ("2", "2")
    (old,) = plugin_pods(world)
    world.request("DELETE", pods_path(world, old["metadata"]["name"]))
    until_gone(world, pods_path(world, old["metadata"]["name"]))
    until_offered(world, node, "4", "4")
    (new,) = plugin_pods(world)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


def test_one_replica_ends_the_plugin_again_and_again(world: World) -> None:
    installed(world)
    node = plugged(world)
    until_offered(world, node, "1", "1")
    choose(world, node, "one")
    until_waiting(world, "nvidia-device-plugin-ctr", "CrashLoopBackOff")
    until_offered(world, node, "1", "0")
    assert container(world, "nvidia-device-plugin-sidecar")["ready"] is True


def test_the_race_after_the_start_leaves_nothing_until_the_pod_is_replaced(world: World) -> None:
    """k8s-device-plugin #1645: everything runs and is ready, and nothing is allocatable."""
    installed(world)
    node = plugged(world, label="ts-4", lost_races=1)
    eventually(world, lambda: offered(world, node)[1] == "0", "it offers nothing")
    until_running(world)
    world.pause(5)
    assert offered(world, node)[1] == "0"
    (lost,) = plugin_pods(world)
    world.request("DELETE", pods_path(world, lost["metadata"]["name"]))
    until_offered(world, node, "4", "4", seconds=60)


def test_a_restarted_kubelet_knows_the_name_and_no_device_until_the_plugin_is_back(world: World) -> None:
    installed(world)
    node = plugged(world, label="ts-2", start_seconds=8.0, switch_seconds=8.0)
    until_offered(world, node, "2", "2", seconds=60)
    node.restart(zeroes=False)
    until_offered(world, node, "0", "0")
    until_offered(world, node, "2", "2", seconds=60)


def test_a_daemon_does_not_come_to_a_node_whose_taint_it_does_not_tolerate(world: World) -> None:
    """One that is there stays, and does not come back once it is gone."""
    installed(world)
    node = plugged(world)
    until_offered(world, node, "1", "1")
    taint = [{"key": "example.com/startup", "effect": "NoSchedule"}]
    patch(world, f"/api/v1/nodes/{node.name}", {"spec": {"taints": taint}}, MERGE)
    world.pause(3)
    (there,) = plugin_pods(world)
    world.request("DELETE", pods_path(world, there["metadata"]["name"]))
    until_gone(world, pods_path(world, there["metadata"]["name"]))
    world.pause(3)
    assert plugin_pods(world) == []
    patch(world, f"/api/v1/nodes/{node.name}", {"spec": {"taints": None}}, MERGE)
    eventually(world, lambda: len(plugin_pods(world)) == 1, "the daemon comes back")


def test_a_daemon_set_counts_its_pods(world: World) -> None:
    chart = installed(world)
    plugged(world)
    until_running(world)
    assert container(world, "nvidia-device-plugin-init")["ready"] is True
    path = f"/apis/apps/v1/namespaces/{world.namespace}/daemonsets/{chart.name}"

    def counts() -> tuple[int, ...]:
        status = get(world, path)["status"]
        names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
        return tuple(status.get(name, 0) for name in names)

    eventually(world, lambda: counts() == (1, 1, 1, 1), "all of one are there")
