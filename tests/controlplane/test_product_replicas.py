"""When the leader dies or hangs in the middle of its work, does the other replica end it right, and write alone?"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from reconciler.model import names
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.nodes import bare_node
from tests.controlplane.product import G4DN, MEMORY, PROBED, UNPROBED, g4dn_with_driver, memory, reason
from tests.controlplane.relay import Written, relay
from tests.controlplane.replica import NAMESPACE, Replica
from tests.controlplane.waiting import eventually, never

Kubelets = Callable[..., HollowKubelet]
Replicas = Callable[..., Replica]

QUICK = {"leader.lease_duration": "4s", "leader.renew_deadline": "3s", "leader.retry_period": "0.5s"}


def test_leaders_that_are_killed_between_two_calls_of_a_join_are_followed_by_one_that_finishes_it(
    control_plane: ControlPlane, hollow_kubelet: Kubelets, replica: Replicas, tmp_path: Path
) -> None:
    """The API server has the write, the leader never hears of it: once after each write that moves the join on.

    The end is as if nothing had happened: one probe, NVML's figure, open for pods.
    """
    stages = [("/status", b"Provisional"), ("/jobs", b""), ("/status", b"Verified")]
    deaths: list[str] = []
    replicas: dict[str, Replica] = {}

    def watched(name: str) -> Callable[[Written], None]:
        def kill(write: Written) -> None:
            if len(deaths) < len(stages):
                path, word = stages[len(deaths)]
                if write.path.endswith(path) and word in write.body:
                    replicas[name].process.kill()
                    deaths.append(name)

        return kill

    with ExitStack() as relays:
        for name in ("a", "b", "c", "d"):
            address = relays.enter_context(relay(control_plane, after_write=watched(name)))
            replicas[name] = replica(name, QUICK, server=address)
        for one in replicas.values():
            one.launch()
        for one in replicas.values():
            one.start()
        kubelet = hollow_kubelet(g4dn_with_driver(tmp_path, taints=(f"{names.STARTUP_TAINT}=:NoSchedule",)))
        eventually(lambda: "taints" not in kubelet.node()["spec"], "the startup taint is removed", 90)

        assert len(set(deaths)) == len(stages)
        for name, (path, _) in zip(deaths, stages, strict=True):
            assert replicas[name].writes()[-1].resource.endswith(path.strip("/")), "it wrote on after its death"
    assert (memory(control_plane, kubelet.path), reason(control_plane, kubelet.path)) == ((PROBED, PROBED), "Verified")
    jobs = control_plane.api.get(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs")["items"]
    assert len(jobs) == 1, "the node is probed once, whoever ordered it"


def test_a_leader_that_hangs_past_its_lease_writes_nothing_when_it_wakes_up_until_it_leads_again(
    control_plane: ControlPlane, replica: Replicas
) -> None:
    """It wakes up with news to act on in its buffers and no word about its lease, and nobody acts before it."""
    settings = {**QUICK, "probe.enabled": False}
    right = (UNPROBED, UNPROBED)
    woken = threading.Event()

    def hold(path: str) -> None:
        if woken.is_set() and "/leases" in path:
            time.sleep(1)
            woken.clear()

    def model() -> str:
        labels: dict[str, str] = control_plane.api.get(path)["metadata"]["labels"]
        return labels[names.LABEL_MODEL]

    with relay(control_plane, before=hold) as address, bare_node(control_plane, "contended", labels=G4DN) as path:
        first = replica("first", settings, server=address).lead()
        eventually(lambda: memory(control_plane, path) == right, "the first leader advertises")
        second = replica("second", settings).start()
        never(second.leads, "two leaders", 1)

        # Idle: a request that is under way when its process is stopped can reach the API server at any later time.
        eventually(first.idle, "all is done", 10)
        first.process.pause()
        wrong = {"status": {"capacity": {MEMORY: "1Gi"}, "allocatable": {MEMORY: "1Gi"}}}
        control_plane.kubectl("patch", "node", "contended", "--subresource=status", "-p", json.dumps(wrong))
        eventually(lambda: memory(control_plane, path) == right, "the second one leads and heals", 30)
        eventually(second.idle, "all is done", 10)
        second.process.pause()
        control_plane.kubectl("label", "node", "contended", "--overwrite", f"{names.LABEL_MODEL}=V100")

        before = len(first.calls())
        woken.set()
        first.process.resume()
        eventually(lambda: model() == "T4", "the first one leads again, once the second one's lease is over", 20)
        since = [call.resource for call in first.calls()[before:] if call.verb == "patch" and call.status == 200]
        assert since[0] == "leases", "it wrote before it led"

        before = len(second.writes())
        second.process.resume()
        eventually(lambda: not second.leads(), "the second one sees that it leads no more", 3)
        assert len(second.writes()) == before
        first.process.stop(grace=20)
        eventually(second.leads, "who stops gives the lease back, and the other one need not wait for its end", 2.5)
