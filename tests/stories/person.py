"""Who types `gpu-reconciler verify` on the stage, and what do they read?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio

from reconciler.app.verifying import Verifier
from reconciler.kube.trouble import Trouble
from reconciler.kube.watch import Pace
from reconciler.model.verification import Verification, VerifyPolicy
from reconciler.runtime.backoff import Backoff
from tests.stories.stage import PROBE, Stage

PERSON = "person"
JOB = replace(PROBE, backoff_limit=0, deadline=120)


@dataclass
class Person:
    """Who types `gpu-reconciler verify`, and what they read on the way."""

    play: Stage
    verifier: Verifier
    heard: list[str]

    async def verify(self, *nodes: str) -> dict[str, Verification]:
        done: list[Verification] = []
        await self.verifier.verify(self.verifier.chosen(nodes), done)
        return {str(one.node): one for one in done}

    async def one(self, node: str = "a") -> Verification:
        return (await self.verify(node))[node]

    @property
    def made(self) -> int:
        """Verify Jobs that were made."""
        calls = self.play.writes(PERSON)
        return sum(call.method == "POST" and call.path.endswith("/jobs") and call.status == 201 for call in calls)


@asynccontextmanager
async def person(play: Stage, *, at_once: int = 8, name: str = PERSON) -> AsyncIterator[Person]:
    heard: list[str] = []

    def worried(trouble: Trouble) -> None:
        raise AssertionError(trouble)

    verifier = Verifier(
        play.sandbox.transport(name),
        job=JOB,
        policy=VerifyPolicy(),
        at_once=at_once,
        pace=Pace(),
        backoff=Backoff(lambda: 0.5),
        report=worried,
        say=heard.append,
    )
    async with anyio.create_task_group() as group:
        await group.start(verifier.watches.watch)
        yield Person(play, verifier, heard)
        group.cancel_scope.cancel()
