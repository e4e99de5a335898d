"""What runs on a machine, whether its kubelet lives or not? Containers and their states, as containerd keeps them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import anyio
from anyio.abc import TaskGroup

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.programs import Exit, Runtime, Waiting, Work

_ASK_AGAIN = 10.0
"""Seconds until a container that did not start is tried again."""
_LOOK = 1.0
"""Seconds until the kubelet sees that a container has ended. The first time it starts it again at once."""
_FIRST_CRASH_BACKOFF = 10.0
_LONGEST_CRASH_BACKOFF = 300.0
_FORGIVEN = 2 * _LONGEST_CRASH_BACKOFF
"""A container that ran so long begins anew with the shortest wait (flowcontrol.Backoff hasExpired)."""


@dataclass(frozen=True, slots=True)
class Running:
    since: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    exit: Exit
    since: datetime
    until: datetime


State = Waiting | Running | Ended
CREATING = Waiting("ContainerCreating")
INITIALIZING = Waiting("PodInitializing")
"""What all containers of a pod with init containers say before their turn (convertStatusToAPIStatus)."""


@dataclass(slots=True)
class Box:
    """One container. `restarts` counts how often it was started again."""

    state: State = CREATING
    last: Ended | None = None
    restarts: int = 0


@dataclass(slots=True)
class Sandboxed:
    """All containers of one pod, and what stops them."""

    pod: Json
    boxes: dict[str, Box]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    started: bool = False


class Host:
    """The containers of one machine. `on_change` hears of every change of state."""

    def __init__(self, node: str, runtime: Runtime, now: Callable[[], datetime], tasks: TaskGroup) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._node = node
        self._runtime = runtime
        self._now = now
        self._tasks = tasks
        self._pods: dict[str, Sandboxed] = {}

    def get(self, uid: str) -> Sandboxed | None:
        return self._pods.get(uid)

    def uids(self) -> list[str]:
        return list(self._pods)

    def start(self, pod: Json, host_env: dict[str, str]) -> None:
        """Begin to run a pod; a second call changes nothing."""
        uid = pod["metadata"]["uid"]
        if uid not in self._pods:
            names = [each["name"] for each in _every(pod)]
            waiting = INITIALIZING if pod["spec"].get("initContainers") else CREATING
            self._pods[uid] = Sandboxed(pod, {name: Box(waiting) for name in names})
            self._tasks.start_soon(self._run_pod, self._pods[uid], host_env)

    def stop(self, uid: str) -> None:
        """Stop a pod's containers; those that ran have ended with code 137, as by SIGKILL."""
        if (sandboxed := self._pods.get(uid)) is not None:
            sandboxed.scope.cancel()
            for box in sandboxed.boxes.values():
                if isinstance(box.state, Running):
                    box.state = Ended(Exit(137), box.state.since, self._now())

    def forget(self, uid: str) -> None:
        self.stop(uid)
        self._pods.pop(uid, None)

    async def _run_pod(self, sandboxed: Sandboxed, host_env: dict[str, str]) -> None:
        pod = sandboxed.pod
        with sandboxed.scope:
            for container in pod["spec"].get("initContainers") or []:
                await self._run(Work(self._node, pod, container, host_env), sandboxed, "OnFailure")
            sandboxed.started = True
            async with anyio.create_task_group() as group:
                for container in pod["spec"]["containers"]:
                    work = Work(self._node, pod, container, host_env)
                    group.start_soon(self._run, work, sandboxed, pod["spec"].get("restartPolicy", "Always"))

    async def _run(self, work: Work, sandboxed: Sandboxed, policy: str) -> None:
        """One container, again and again as the restart policy says."""
        name = work.container["name"]
        box = sandboxed.boxes[name]
        wait = 0.0
        while True:
            while (trouble := self._runtime.trouble(work)) is not None:
                self._change(box, trouble)
                await anyio.sleep(_ASK_AGAIN)
            since = self._now()
            self._change(box, Running(since))
            left = await self._runtime.run(work)
            ended = Ended(left, since, self._now())
            self._change(box, ended)
            if policy == "Never" or (policy == "OnFailure" and left.code == 0):
                return
            if (ended.until - ended.since).total_seconds() > _FORGIVEN:
                wait = 0.0
            if wait:
                box.last = ended
                text = f"back-off {wait:g}s restarting failed container={name} pod={work.pod['metadata']['name']}"
                self._change(box, Waiting("CrashLoopBackOff", text))
            await anyio.sleep(wait or _LOOK)
            box.last = ended
            box.restarts += 1
            wait = min(2.0 * wait, _LONGEST_CRASH_BACKOFF) if wait else _FIRST_CRASH_BACKOFF

    def _change(self, box: Box, state: State) -> None:
        if box.state != state:
            box.state = state
            self.on_change()


def _every(pod: Json) -> list[Json]:
    return [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]
