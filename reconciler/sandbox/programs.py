"""What does a container do when it runs? Idle, a few shell words on virtual time, or a probe with a recorded answer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from reconciler.sandbox.encoding import Json

PROBE = "reconciler.probe"
"""The word in a command by which the probe is known."""


@dataclass(frozen=True, slots=True)
class Work:
    """One container on one node."""

    node: str
    pod: Json
    container: Json
    host_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        return [*(self.container.get("command") or []), *(self.container.get("args") or [])]

    @property
    def is_probe(self) -> bool:
        return any(PROBE in word for word in self.words)

    @property
    def env(self) -> dict[str, str]:
        """The container's plain variables, and what the host adds."""
        own = {each["name"]: each["value"] for each in self.container.get("env") or [] if "value" in each}
        return {**own, **self.host_env}


@dataclass(frozen=True, slots=True)
class Exit:
    """A container has ended; `message` is what it left in its termination log."""

    code: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A container does not start: ImagePullBackOff, CreateContainerError, RunContainerError ..."""

    reason: str
    message: str = ""


class Runtime(Protocol):
    """The container runtime of a node, with the programs in it."""

    def trouble(self, work: Work) -> Waiting | None:
        """Why the container does not start; asked again from time to time."""
        ...

    async def run(self, work: Work) -> Exit:
        """Run the container to its end; cancelled when the pod is stopped."""
        ...


_SHELL = re.compile(r"(?:sleep (?P<seconds>[0-9.]+)(?:\s*;\s*|$))?(?:exit (?P<code>\d+))?")


class Pretend:
    """Containers idle for ever, except `sh -c "sleep 5; exit 3"`, init containers, and probes with an answer."""

    def __init__(
        self,
        probe: Callable[[Work], Exit | Waiting] | None = None,
        *,
        probe_seconds: float = 2.0,
        missing_image: str = "",
    ) -> None:
        self._probe = probe
        self._probe_seconds = probe_seconds
        self._missing_image = missing_image

    def trouble(self, work: Work) -> Waiting | None:
        image = work.container["image"]
        if self._missing_image and self._missing_image in image:
            text = f'Back-off pulling image "{image}": ErrImagePull: {image}: not found'
            return Waiting("ImagePullBackOff", text)
        if work.is_probe and self._probe is not None and isinstance(answer := self._probe(work), Waiting):
            return answer
        return None

    async def run(self, work: Work) -> Exit:
        if work.is_probe and self._probe is not None:
            await anyio.sleep(self._probe_seconds)
            answer = self._probe(work)
            return answer if isinstance(answer, Exit) else Exit(128, answer.message)
        if work.words[:2] == ["sh", "-c"] and (found := _SHELL.fullmatch(work.words[2].strip())):
            await anyio.sleep(float(found["seconds"] or 0))
            return Exit(int(found["code"] or 0))
        if work.container in (work.pod["spec"].get("initContainers") or []):
            return Exit(0)
        await anyio.sleep_forever()
        raise AssertionError("not reached")
