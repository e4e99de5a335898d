"""sandbox/kubelet: joins, restarts, devices, and what the contract's hollow kubelets cannot show."""

import anyio
import pytest

from reconciler.sandbox.cluster import Sandbox, eventually
from reconciler.sandbox.encoding import Json, moment
from reconciler.sandbox.faults import Unreachable
from reconciler.sandbox.kinds import JOBS, LEASES, NODES, PODS
from reconciler.sandbox.kubelet_pods import STOP_SECONDS
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.programs import Exit, Pretend, Waiting, Work
from tests.sandbox.stories import MEMORY, advertise, job, node, phase, pod, pods, virtual


def ready(found: Json) -> str:
    return str(next(each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"))


@virtual
async def test_a_node_joins_in_steps() -> None:
    """Registered and tainted, then Ready and open, then with its GPU."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n", Machine(taints=("gpu=yes:NoSchedule", "startup:NoExecute"), device_delay=20))
        made = node(sandbox, "n")
        assert {taint["key"] for taint in made["spec"]["taints"]} == {"gpu", "startup", "node.kubernetes.io/not-ready"}
        assert made["spec"]["taints"][0] == {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
        assert ready(made) == "False"
        assert made["status"]["capacity"] == Machine().capacity
        await anyio.sleep(3)
        assert ready(node(sandbox, "n")) == "True"
        assert {taint["key"] for taint in node(sandbox, "n")["spec"]["taints"]} == {"gpu", "startup"}
        assert "nvidia.com/gpu" not in node(sandbox, "n")["status"]["capacity"]
        await anyio.sleep(20)
        assert node(sandbox, "n")["status"]["allocatable"]["nvidia.com/gpu"] == "1"


@virtual
async def test_a_lease_is_renewed_and_the_status_is_written_every_five_minutes() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await anyio.sleep(3600)
        lease = sandbox.store.get(LEASES, "kube-node-lease/n")
        assert lease is not None
        assert (sandbox.clock.now() - moment(lease["spec"]["renewTime"])).total_seconds() <= 10
        writes = [call for call in sandbox.record.writes("system:node:n") if call.path.endswith("/status")]
        assert 12 <= len(writes) <= 16


@virtual
async def test_a_restarted_kubelet_has_no_devices_until_their_plugin_is_back() -> None:
    """Both are 0, and a pod that asks for one then is refused for good."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await anyio.sleep(10)
        await sandbox.restart_kubelet("n", device_delay=30.0)
        await anyio.sleep(5)
        status = node(sandbox, "n")["status"]
        assert (status["capacity"]["nvidia.com/gpu"], status["allocatable"]["nvidia.com/gpu"]) == ("0", "0")
        await sandbox.admin.create(PODS, "default", pod("p", {"nvidia.com/gpu": "1"}, nodeName="n"))
        await anyio.sleep(1)
        assert phase(sandbox, "p") == ("Failed", "UnexpectedAdmissionError")
        await anyio.sleep(30)
        assert node(sandbox, "n")["status"]["allocatable"]["nvidia.com/gpu"] == "1"


@virtual
async def test_containers_outlive_their_kubelet() -> None:
    """A restart is no reason to start them again: the time they started stays."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await anyio.sleep(5)
        await sandbox.admin.create(PODS, "default", pod("p", nodeName="n"))
        await anyio.sleep(5)

        def started() -> str:
            return str(pods(sandbox)[0]["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])

        before = started()
        await sandbox.restart_kubelet("n")
        await anyio.sleep(20)
        assert started() == before


@virtual
async def test_a_node_replaced_under_its_name_is_another_node_without_the_resource() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await anyio.sleep(5)
        await advertise(sandbox, "n", "15079Mi")
        old = node(sandbox, "n")
        await sandbox.replace_node("n", Machine(boot_id="another"))
        await anyio.sleep(10)
        new = node(sandbox, "n")
        assert new["metadata"]["uid"] != old["metadata"]["uid"]
        assert new["status"]["nodeInfo"]["bootID"] == "another"
        assert MEMORY not in new["status"]["capacity"]
        assert ready(new) == "True"


@virtual
async def test_a_node_deleted_under_its_kubelet_is_not_made_again() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await anyio.sleep(5)
        await sandbox.admin.delete(NODES, "", "n")
        await anyio.sleep(120)
        assert sandbox.store.all(NODES) == []


@virtual
async def test_a_kubelet_waits_for_a_server_that_is_away_and_goes_on_afterwards() -> None:
    async with Sandbox() as sandbox:
        rule = sandbox.faults.add(Unreachable(), user="^system:node:")
        async with anyio.create_task_group() as group:
            group.start_soon(sandbox.add_node, "n")
            await anyio.sleep(600)
            assert sandbox.store.all(NODES) == []
            sandbox.faults.remove(rule)
        await anyio.sleep(10)
        assert ready(node(sandbox, "n")) == "True"
        sandbox.faults.add(Unreachable(), user="^system:node:", times=20)
        await sandbox.admin.create(PODS, "default", pod("p", nodeName="n"))
        await anyio.sleep(300)
        assert phase(sandbox, "p") == ("Running", None)


@pytest.mark.parametrize(("needs", "grace", "seconds"), [("", 30, 1), ("10", 30, 10), ("100", 30, 30)])
@virtual
async def test_a_pod_stops_in_the_time_it_needs_but_not_beyond_its_grace(needs: str, grace: int, seconds: int) -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        body = pod("p", nodeName="n", terminationGracePeriodSeconds=grace)
        body["metadata"]["annotations"] = {STOP_SECONDS: needs} if needs else {}
        await sandbox.admin.create(PODS, "default", body)
        await anyio.sleep(5)
        await sandbox.admin.delete(PODS, "default", "p")
        began = anyio.current_time()
        await eventually(lambda: not pods(sandbox), "the pod is gone")
        assert seconds <= anyio.current_time() - began < seconds + 0.5


@pytest.mark.parametrize(
    "trouble",
    [
        Waiting("ImagePullBackOff", 'Back-off pulling image "example.com/probe:1"'),
        Waiting("CreateContainerError", "runtime class not found"),
        Waiting("RunContainerError", "libnvidia-ml.so.1: no such file"),
    ],
)
@virtual
async def test_a_container_that_cannot_start_says_why_and_starts_when_it_can(trouble: Waiting) -> None:
    answers: list[Exit | Waiting] = [trouble]
    async with Sandbox(runtime=Pretend(lambda work: answers[-1])) as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(PODS, "default", pod("p", nodeName="n") | {"spec": probing("n")})
        await anyio.sleep(60)
        waiting = pods(sandbox)[0]["status"]["containerStatuses"][0]["state"]["waiting"]
        assert (waiting["reason"], waiting["message"]) == (trouble.reason, trouble.message)
        assert phase(sandbox, "p") == ("Pending", None)
        answers.append(Exit(0, '{"ok":true}'))
        await anyio.sleep(20)
        ended = pods(sandbox)[0]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"], ended["message"]) == (0, "Completed", '{"ok":true}')
        assert phase(sandbox, "p") == ("Succeeded", None)


def probing(name: str) -> Json:
    container = {"name": "probe", "image": "example.com/probe:1", "command": ["python", "-m", "reconciler.probe"]}
    return {"restartPolicy": "Never", "nodeName": name, "containers": [container]}


@virtual
async def test_a_probe_answers_for_its_node_and_a_message_is_cut_at_4096_bytes() -> None:
    def answer(work: Work) -> Exit:
        return Exit(3, work.node * 5000)

    async with Sandbox(runtime=Pretend(answer)) as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(PODS, "default", pod("p") | {"spec": probing("n")})
        await anyio.sleep(10)
        ended = pods(sandbox)[0]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (3, "Error")
        assert ended["message"] == "n" * 4096
        assert phase(sandbox, "p") == ("Failed", None)


@virtual
async def test_a_container_that_keeps_failing_is_restarted_ever_later() -> None:
    """At once, and then with CrashLoopBackOff of 10, 20, 40 s ... in between."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        body = pod("p", nodeName="n")
        body["spec"]["containers"][0]["command"] = ["sh", "-c", "exit 1"]
        await sandbox.admin.create(PODS, "default", body)
        await anyio.sleep(75)
        status = pods(sandbox)[0]["status"]["containerStatuses"][0]
        assert status["restartCount"] == 4
        assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert status["lastState"]["terminated"]["exitCode"] == 1
        assert phase(sandbox, "p") == ("Running", None)


@virtual
async def test_init_containers_come_first() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        slow = {"name": "first", "image": "x", "command": ["sh", "-c", "sleep 30"]}
        await sandbox.admin.create(PODS, "default", pod("p", nodeName="n", initContainers=[slow]))
        await anyio.sleep(10)
        assert phase(sandbox, "p") == ("Pending", None)
        assert "running" in pods(sandbox)[0]["status"]["initContainerStatuses"][0]["state"]
        await anyio.sleep(30)
        assert phase(sandbox, "p") == ("Running", None)


@virtual
async def test_a_job_whose_pods_restart_in_place_fails_by_its_restarts() -> None:
    """restartPolicy OnFailure: the pod stays, the backoff limit counts restarts."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        body = job("j", "sh", "-c", "exit 1", restart="OnFailure", backoffLimit=2)
        await sandbox.admin.create(JOBS, "default", body)
        await anyio.sleep(120)
        conditions = [each["reason"] for each in sandbox.store.all(JOBS)[0]["status"]["conditions"]]
        assert conditions == ["BackoffLimitExceeded"] * 2
