"""sandbox: Deployments, budgets and housekeeping, as stories on virtual time."""

import anyio
import pytest

from reconciler.sandbox.cluster import Sandbox, eventually
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import BUDGETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICASETS
from reconciler.sandbox.machine import Machine
from tests.sandbox.stories import MEMORY, advertise, deployment, job, phase, pod, pods, virtual


def running(sandbox: Sandbox, **labels: str) -> int:
    return sum(each["status"]["phase"] == "Running" for each in pods(sandbox, **labels))


async def until_running(sandbox: Sandbox, count: int, but: str = "") -> None:
    """Wait until so many pods of `web` are there and run, and none of them is `but`."""

    def holds() -> bool:
        names = [each["metadata"]["name"] for each in pods(sandbox, app="web")]
        return len(names) == count == running(sandbox, app="web") and but not in names

    await eventually(holds, f"{count} run")


@virtual
async def test_a_deployment_keeps_its_number_through_losses_and_scales_both_ways() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 3))
        await eventually(lambda: running(sandbox, app="web") == 3, "three run")
        lost = pods(sandbox, app="web")[0]["metadata"]["name"]
        await sandbox.admin.delete(PODS, "default", lost)
        await until_running(sandbox, 3, but=lost)
        for replicas in (5, 1, 0):
            await sandbox.admin.merge(DEPLOYMENTS, "default", "web", {"spec": {"replicas": replicas}})
            await until_running(sandbox, replicas)
        status = sandbox.store.all(DEPLOYMENTS)[0]["status"]
        assert (status["replicas"], status["readyReplicas"]) == (0, 0)


@virtual
async def test_a_new_template_replaces_the_pods_and_they_know_their_owners() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 2))
        await eventually(lambda: running(sandbox, app="web") == 2, "two run")
        template = deployment("web", 2, image="idle:2")["spec"]["template"]
        await sandbox.admin.merge(DEPLOYMENTS, "default", "web", {"spec": {"template": template}})

        def images() -> list[str]:
            return [each["spec"]["containers"][0]["image"] for each in pods(sandbox, app="web")]

        await eventually(lambda: images() == ["idle:2"] * 2, "both are new")
        sets = {each["metadata"]["name"]: each for each in sandbox.store.all(REPLICASETS)}
        owner = pods(sandbox)[0]["metadata"]["ownerReferences"][0]
        assert (owner["kind"], sets[owner["name"]]["metadata"]["uid"]) == ("ReplicaSet", owner["uid"])
        assert sets[owner["name"]]["metadata"]["ownerReferences"][0]["kind"] == "Deployment"


@virtual
async def test_what_a_deleted_deployment_owned_goes_too() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 2))
        await eventually(lambda: running(sandbox, app="web") == 2, "two run")
        await sandbox.admin.delete(DEPLOYMENTS, "default", "web")
        await eventually(lambda: not pods(sandbox) and not sandbox.store.all(REPLICASETS), "all is gone")


@virtual
async def test_pods_of_a_node_that_is_gone_are_removed_and_placed_anew() -> None:
    """After a quarantine of 40 s, as by the pod garbage collector."""
    async with Sandbox() as sandbox:
        for name in ("n1", "n2"):
            await sandbox.add_node(name)
        await anyio.sleep(5)
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 4))
        await eventually(lambda: running(sandbox, app="web") == 4, "four run")
        assert sorted(each["spec"]["nodeName"] for each in pods(sandbox)) == ["n1", "n1", "n2", "n2"]
        await sandbox.delete_node("n1")
        await anyio.sleep(30)
        assert len([each for each in pods(sandbox) if each["spec"].get("nodeName") == "n1"]) == 2
        await eventually(lambda: [each["spec"].get("nodeName") for each in pods(sandbox)] == ["n2"] * 4, "all on n2")


@virtual
async def test_the_number_of_pods_binds_before_memory_on_a_small_node() -> None:
    """29 pods on a g4dn.xlarge, with memory for 145."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n", Machine(max_pods=29))
        await anyio.sleep(5)
        await advertise(sandbox, "n", "15079Mi")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("dev", 31, {MEMORY: "104Mi"}))
        await eventually(lambda: running(sandbox) == 29, "29 run")
        waiting = [each for each in pods(sandbox) if each["status"]["phase"] == "Pending"]
        await eventually(lambda: all(each["status"].get("conditions") for each in pods(sandbox)), "they say why")
        waiting = [each for each in pods(sandbox) if each["status"]["phase"] == "Pending"]
        messages = {each["status"]["conditions"][0]["message"] for each in waiting}
        assert len(waiting) == 2
        assert messages == {
            "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        }


def budget(**spec: object) -> Json:
    return {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}


@pytest.mark.parametrize(
    ("spec", "figures"),
    [
        ({"minAvailable": 2}, {"expectedPods": 4, "desiredHealthy": 2, "currentHealthy": 4, "disruptionsAllowed": 2}),
        (
            {"minAvailable": "60%"},
            {"expectedPods": 4, "desiredHealthy": 3, "currentHealthy": 4, "disruptionsAllowed": 1},
        ),
        ({"maxUnavailable": 1}, {"expectedPods": 4, "desiredHealthy": 3, "currentHealthy": 4, "disruptionsAllowed": 1}),
        ({"maxUnavailable": 0}, {"expectedPods": 4, "desiredHealthy": 4, "currentHealthy": 4, "disruptionsAllowed": 0}),
        ({"minAvailable": 9}, {"expectedPods": 4, "desiredHealthy": 9, "currentHealthy": 4, "disruptionsAllowed": 0}),
    ],
)
@virtual
async def test_a_budget_does_its_sum(spec: Json, figures: dict[str, int]) -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 4))
        await sandbox.admin.create(BUDGETS, "default", budget(**spec))

        def told() -> dict[str, object]:
            status = sandbox.store.all(BUDGETS)[0].get("status") or {}
            return {key: status.get(key) for key in figures}

        await eventually(lambda: told() == figures, str(figures))


@virtual
async def test_a_budget_is_used_up_one_by_one_and_fills_again() -> None:
    """Evict as fast as allowed: never fewer than two are there, and in the end all are new."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.admin.create(DEPLOYMENTS, "default", deployment("web", 3))
        await sandbox.admin.create(BUDGETS, "default", budget(minAvailable=2))
        await eventually(lambda: running(sandbox, app="web") == 3, "three run")
        old = [each["metadata"]["name"] for each in pods(sandbox)]
        refused = 0
        for name in old:
            for _ in range(600):
                answer = await sandbox.evict("default", name)
                assert running(sandbox, app="web") >= 2
                if answer in (201, 404):
                    break
                assert answer == 429
                refused += 1
                await anyio.sleep(0.1)
        await eventually(lambda: running(sandbox, app="web") == 3, "three run")
        assert refused > 0
        assert not {each["metadata"]["name"] for each in pods(sandbox)} & set(old)


@virtual
async def test_a_share_of_a_jobs_pods_cannot_be_told() -> None:
    """SyncFailed: evictions are refused with that reason, however long one waits."""
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        body = job("j", "sh", "-c", "sleep 1000")
        body["spec"]["template"]["metadata"] = {"labels": {"app": "web"}}
        await sandbox.admin.create(JOBS, "default", body)
        await sandbox.admin.create(BUDGETS, "default", budget(minAvailable="50%"))
        await eventually(lambda: running(sandbox, app="web") == 1, "it runs")
        await anyio.sleep(1)
        condition = sandbox.store.all(BUDGETS)[0]["status"]["conditions"][0]
        assert (condition["reason"], condition["status"]) == ("SyncFailed", "False")


@virtual
async def test_a_pod_of_higher_priority_is_placed_first() -> None:
    async with Sandbox() as sandbox:
        await sandbox.admin.create(PODS, "default", pod("low", {MEMORY: "1Gi"}))
        await sandbox.admin.create(
            PODS, "default", pod("high", {MEMORY: "1Gi"}, priorityClassName="system-node-critical")
        )
        await sandbox.add_node("n")
        await advertise(sandbox, "n", "1Gi")
        await eventually(lambda: phase(sandbox, "high") == ("Running", None), "the important one runs")
        assert phase(sandbox, "low") == ("Pending", None)


@virtual
async def test_a_deleted_node_object_comes_back_only_with_a_new_machine() -> None:
    async with Sandbox() as sandbox:
        await sandbox.add_node("n")
        await sandbox.delete_node("n")
        assert sandbox.store.all(NODES) == []
        assert sandbox.nodes == []
        await sandbox.add_node("n")
        assert sandbox.nodes == ["n"]
