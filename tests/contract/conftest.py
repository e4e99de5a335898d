"""The sandbox as a contract test's cluster: virtual time, moved on only while the test asks for something."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import anyio
import pytest

from reconciler.runtime.transport import Request
from reconciler.sandbox.clock import VirtualLoop
from reconciler.sandbox.cluster import Sandbox
from reconciler.sandbox.encoding import DecodeError, decode, encode
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.plugin_chart import PluginChart
from reconciler.sandbox.plugin_script import GPU, PluginScript
from tests.contract.world import SYNC, Answer, Json, World

T = TypeVar("T")
USER = "contract"


class SandboxNode:
    """A node with a sandbox kubelet."""

    def __init__(self, world: "SandboxWorld", name: str) -> None:
        self.name = name
        self._world = world

    def restart(self, *, zeroes: bool) -> None:
        self._world.do(self._world.sandbox.restart_kubelet(self.name, zero=zeroes))
        self._world.pause(2)


class SandboxWorld:
    """Runs the loop step by step: the cluster lives in a task of its own."""

    namespace = "contract"

    def __init__(self) -> None:
        self._loop = VirtualLoop()
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        self._end, up = asyncio.Event(), asyncio.Event()
        self._life = asyncio.ensure_future(self._live(up))
        await up.wait()

    async def _live(self, up: asyncio.Event) -> None:
        async with Sandbox() as self.sandbox:
            up.set()
            await self._end.wait()

    def close(self) -> None:
        self._end.set()
        self._loop.run_until_complete(self._life)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json", **params: str
    ) -> Answer:
        data = b"" if body is None else encode(body)
        asked = Request(method, path, params, data, content_type)
        response = self.do(self.sandbox.transport(USER).send(asked))
        try:
            decoded = decode(response.body)
        except DecodeError:
            decoded = {"message": response.body.decode()}
        return Answer(response.status, decoded)

    def watch(self, path: str, seconds: int, *, until: str = "", **params: str) -> list[Json]:
        query = {"watch": "true", "timeoutSeconds": str(seconds), **params}
        return self.do(self._watch(Request("GET", path, query, timeout=seconds + 5), until))

    async def _watch(self, request: Request, until: str) -> list[Json]:
        events: list[Json] = []
        tail = b""
        transport = self.sandbox.transport(USER)
        async with transport.stream(request) as stream, aclosing(stream.chunks()) as chunks:  # type: ignore[type-var]  # a generator
            async for chunk in chunks:
                *lines, tail = (tail + chunk).split(b"\n")
                for line in lines:
                    events.append(decode(line))
                    if events[-1]["type"] == until:
                        return events
        return events

    def pause(self, seconds: float) -> None:
        self.do(anyio.sleep(seconds))

    def kubelet(self, *, zeroes: bool = False, max_pods: int = 110) -> SandboxNode:
        name = f"node-{len(self.sandbox.nodes) + 1}"
        machine = Machine(zeroes_at_registration=zeroes, max_pods=max_pods, device_delay=0.0, sync_every=SYNC)
        self.do(self.sandbox.add_node(name, machine))
        self.pause(3)
        return SandboxNode(self, name)

    def install(self, chart: PluginChart) -> None:
        self.do(self.sandbox.install_device_plugin(chart))

    def plugged(self, script: PluginScript, *, gpus: int = 1, labels: Mapping[str, str] | None = None) -> SandboxNode:
        machine = Machine(devices={GPU: gpus}, labels=labels or {}, plugin=script, sync_every=SYNC)
        self.do(self.sandbox.add_node("plugged", machine))
        self.pause(3)
        return SandboxNode(self, "plugged")


@pytest.fixture
def world() -> Iterator[World]:
    """A sandbox for this test alone."""
    made = SandboxWorld()
    yield made
    made.close()
