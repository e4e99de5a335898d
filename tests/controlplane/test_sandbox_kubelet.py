"""Can a kubelet of the sandbox keep up a node of the real control plane? Then the demo may mix the two."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import anyio.to_thread
import pytest

from reconciler.kube.connection import connect
from reconciler.runtime.clock import LoopClock
from reconciler.sandbox.client import Client
from reconciler.sandbox.host import Host
from reconciler.sandbox.kubelet import Kubelet
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.programs import Pretend
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.pods import phase_and_reason, pod_asking
from tests.controlplane.waiting import eventually

MEMORY = "veriff.com/gpu-memory"
NAME = "sandbox-kubelet"

pytestmark = pytest.mark.anyio


async def test_a_kubelet_of_the_sandbox_keeps_up_a_real_node(control_plane: ControlPlane, namespace: str) -> None:
    """It registers, gets Ready, copies capacity, runs a pod that the real scheduler placed, and lets it go."""
    api, path = control_plane.api, f"/api/v1/nodes/{NAME}"
    pod = f"/api/v1/namespaces/{namespace}/pods/p"

    def story() -> None:
        eventually(lambda: not api.get(path)["spec"].get("taints"), "the node is open for pods")
        api.patch(f"{path}/status", {"status": {"capacity": {MEMORY: "1Gi"}}})
        eventually(lambda: api.get(path)["status"]["allocatable"].get(MEMORY) == "1Gi", "capacity is copied", 15)
        api.post(f"/api/v1/namespaces/{namespace}/pods", pod_asking("p", {MEMORY: "104Mi"}))
        eventually(lambda: phase_and_reason(control_plane, namespace, "p") == ("Running", None), "the pod runs")
        assert api.get(pod)["spec"]["nodeName"] == NAME
        api.delete(pod)
        eventually(lambda: api.request("GET", pod).status == 404, "the pod is gone")

    try:
        async with connect(control_plane.kubeconfig) as transport, anyio.create_task_group() as tasks:
            clock = LoopClock(datetime.now(UTC))
            host = Host(NAME, Pretend(), clock.now, tasks)
            kubelet = Kubelet(Client(transport), NAME, Machine(sync_every=2.0), host, clock.now)
            tasks.start_soon(kubelet.run)
            await kubelet.registered.wait()
            await anyio.to_thread.run_sync(story)
            tasks.cancel_scope.cancel()
    finally:
        api.delete(path)
