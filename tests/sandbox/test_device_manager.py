"""sandbox/device_manager: what a kubelet knows of devices, second by second."""

import pytest

from reconciler.sandbox.device_manager import GRACE, Checkpoint, DeviceManager
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.plugin_script import GPU


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pod(uid: str, count: int = 1, resource: str = GPU) -> Json:
    resources = {"requests": {resource: str(count)}}
    return {"metadata": {"uid": uid}, "spec": {"containers": [{"name": "main", "resources": resources}]}}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def checkpoint() -> Checkpoint:
    return Checkpoint()


@pytest.fixture
def manager(clock: Clock, checkpoint: Checkpoint) -> DeviceManager:
    return DeviceManager(checkpoint, clock)


def test_devices_come_go_and_are_forgotten(manager: DeviceManager, clock: Clock) -> None:
    assert manager.capacity() == {}
    manager.connect(GPU, ["a", "b"])
    assert manager.capacity() == {GPU: (2, 2)}
    manager.disconnect(GPU)
    assert manager.capacity() == {GPU: (2, 0)}
    clock.now = GRACE
    assert manager.capacity() == {GPU: (2, 0)}
    clock.now = GRACE + 1
    assert manager.capacity() == {GPU: (0, 0)}
    assert manager.capacity() == {}, "zero is said once"


def test_a_plugin_that_comes_back_in_time_is_as_before(manager: DeviceManager, clock: Clock) -> None:
    manager.connect(GPU, ["a"])
    manager.disconnect(GPU)
    clock.now = GRACE - 1
    manager.connect(GPU, ["a", "b"])
    clock.now = 2 * GRACE
    assert manager.capacity() == {GPU: (2, 2)}


def test_a_kubelet_that_starts_anew_knows_names_and_allocations(
    manager: DeviceManager, checkpoint: Checkpoint, clock: Clock
) -> None:
    manager.connect(GPU, ["a", "b"])
    assert manager.allocate(pod("one")) is None
    after = DeviceManager(checkpoint, clock)
    assert after.capacity() == {GPU: (0, 0)}
    assert after.held("one") == {GPU: 1}
    after.connect(GPU, ["a", "b"])
    assert after.allocate(pod("two", 2)) == (
        f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1"
    )


def test_devices_of_pods_that_are_gone_are_free_again(manager: DeviceManager) -> None:
    manager.connect(GPU, ["a"])
    assert manager.allocate(pod("one")) is None
    assert manager.allocate(pod("two")) is not None
    manager.retain(["two"])
    assert manager.allocate(pod("two")) is None


def test_what_no_plugin_ever_served_is_nobodys_business(manager: DeviceManager) -> None:
    assert manager.allocate(pod("one", resource="example.com/other")) is None
    assert manager.held("one") == {}


def test_what_a_plugin_served_is_refused_as_unregistered_once_it_is_forgotten(
    manager: DeviceManager, clock: Clock
) -> None:
    """As long as a pod still has one of its devices."""
    manager.connect(GPU, ["a"])
    assert manager.allocate(pod("one")) is None
    manager.disconnect(GPU)
    clock.now = GRACE + 1
    manager.capacity()
    assert manager.allocate(pod("two")) == f"cannot allocate unregistered device {GPU}"
    manager.retain([])
    assert manager.allocate(pod("three")) is None, "the node's own 0 refuses it then"


def test_a_plugin_may_hand_out_one_at_a_time_only(manager: DeviceManager) -> None:
    manager.connect(GPU, ["a", "b"], one_each=True)
    assert manager.allocate(pod("two", 2)) == (
        f"rpc error: code = Unknown desc = request for '{GPU}: 2' too large: "
        "maximum request size for shared resources is 1"
    )
    assert manager.allocate(pod("one")) is None
