"""sandbox: on which event loops does it run? On asyncio and on trio, where tests of loops bend time their own way."""

from collections import Counter

import anyio

from reconciler.sandbox.clock import run_virtual
from reconciler.sandbox.cluster import Sandbox, eventually
from reconciler.sandbox.kinds import DEPLOYMENTS
from reconciler.sandbox.machine import Machine
from tests.sandbox.stories import MEMORY, advertise, deployment, node, pods


def test_the_whole_cluster_runs_on_trio_with_a_jumping_clock(jumping_clock: tuple[str, dict[str, object]]) -> None:
    async def main() -> None:
        async with Sandbox() as sandbox:
            for name in ("n1", "n2"):
                await sandbox.add_node(name, Machine(zeroes_at_registration=True))
            await anyio.sleep(10)
            for name in ("n1", "n2"):
                await advertise(sandbox, name, "208Mi")
            await sandbox.admin.create(DEPLOYMENTS, "default", deployment("dev", 5, {MEMORY: "104Mi"}))

            def placed() -> Counter[str | None]:
                return Counter(each["spec"].get("nodeName") for each in pods(sandbox))

            await eventually(lambda: placed() == {"n1": 2, "n2": 2, None: 1}, "memory decides")
            await sandbox.restart_kubelet("n1")
            await eventually(lambda: node(sandbox, "n1")["status"]["allocatable"][MEMORY] == "0", "it is zeroed")

    backend, options = jumping_clock
    anyio.run(main, backend=backend, backend_options=options)


def test_the_same_story_is_the_same_twice() -> None:
    """On virtual time the record of calls is the same from run to run, with the same seed."""

    def told() -> list[str]:
        calls: list[str] = []

        async def main() -> None:
            async with Sandbox(seed=3) as sandbox:
                for name in ("n1", "n2"):
                    await sandbox.add_node(name)
                await sandbox.admin.create(DEPLOYMENTS, "default", deployment("dev", 6))
                await anyio.sleep(100)
                calls.extend(f"{call.at.isoformat()} {call}" for call in sandbox.record.calls)

        run_virtual(main, seed=3)
        return calls

    first = told()
    assert len(first) > 100
    assert told() == first
