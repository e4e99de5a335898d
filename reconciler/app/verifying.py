"""How are nodes verified by hand? Watches of nodes and verify Jobs, one Job a node, several nodes side by side."""

import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio
from anyio import CancelScope

from reconciler.app.job_wishes import verify_job, verify_policy
from reconciler.app.process import started
from reconciler.app.wishes import wishes
from reconciler.decide import verifying
from reconciler.kube import sources, verify_views
from reconciler.kube.cache import NodeCache
from reconciler.kube.connection import connect
from reconciler.kube.fence import unfenced
from reconciler.kube.probe_cache import SETTLE
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.trouble import Report
from reconciler.kube.verify_job import VerifyJobs
from reconciler.kube.verify_views import VerifyCache
from reconciler.kube.watch import Pace
from reconciler.kube.watches import Watches
from reconciler.model.node import NodeName, NodeView
from reconciler.model.trial import RunVerification
from reconciler.model.verification import Verification, VerifyPolicy
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Transport
from reconciler.settings.root import Settings

GRACE = 15.0
"""Seconds that Kubernetes may take to end a Job whose deadline has passed, and we to remove one that is in the way."""
LOOK_AGAIN = 1.0
"""Seconds between looks without news: what is known of a Job that has ended ripens by itself."""

REFUSALS = (Forbidden, Gone, Rejected, Stale, Unavailable)


@dataclass(frozen=True, slots=True)
class Verified:
    """What came out: nodes in the order of their names. `stopped`: a signal ended it before all were done."""

    nodes: Sequence[Verification]
    unknown: Sequence[str] = ()
    """Names that no node has."""
    stopped: bool = False


class Verifier:
    """Looks at one cluster. `say` hears, as a line for people, what a node is waiting for."""

    def __init__(
        self,
        transport: Transport,
        *,
        job: ProbeJobSettings,
        policy: VerifyPolicy,
        at_once: int,
        pace: Pace,
        backoff: Backoff,
        report: Report,
        say: Callable[[str], None],
        only: str = "",
    ) -> None:
        """`only`: a single node is asked about, so that the others need not be read."""
        self.nodes = NodeCache(self._heard)
        self.trials = VerifyCache(self._heard)
        self._jobs = VerifyJobs(transport, job, may_write=unfenced)
        self._policy = policy
        self._longest = job.deadline + SETTLE + GRACE
        self._at_once = anyio.Semaphore(at_once)
        self._say = say
        self._news = anyio.Event()
        nodes = sources.nodes(report)
        if only:
            nodes = replace(nodes, selectors={"fieldSelector": f"metadata.name={only}"})

        self.watches = Watches(transport, backoff=backoff, report=report, pace=pace)
        self.watches.add(nodes, self.nodes.take)
        self.watches.add(verify_views.jobs(report, job.namespace), self.trials.jobs.take)
        self.watches.add(verify_views.pods(report, job.namespace), self.trials.pods.take)

    def chosen(self, names: Sequence[str]) -> Sequence[NodeView]:
        """The nodes of these names; without any name, all that seem to have an NVIDIA GPU."""
        found = sorted(self.nodes.all(), key=lambda node: node.name)
        if names:
            return [node for node in found if node.name in names]
        return [node for node in found if verifying.worth_a_try(node, self._policy)]

    async def verify(self, nodes: Sequence[NodeView], into: list[Verification]) -> None:
        """Verify these nodes, as many at once as is allowed, each with one Job; cancelled, the Jobs are removed."""
        async with anyio.create_task_group() as group:
            for node in nodes:
                group.start_soon(self._in_turn, node, into)

    async def _in_turn(self, node: NodeView, into: list[Verification]) -> None:
        async with self._at_once:
            into.append(await self.one(self.nodes.get(node.name) or node))

    async def one(self, node: NodeView) -> Verification:
        """Verify one node. A Job of it that is under way, whosever it is, is watched instead of making a second."""
        asks = verifying.asks(node, self._policy)
        if not asks:
            return verifying.verify(node, None, self._policy)
        turn, made = self.trials.turn(node), False
        try:
            if not turn.under_way:
                made = await self._jobs.run(RunVerification(node.key, node.boot_id, asks, turn.serial))
            over = False
            with anyio.move_on_after(self._longest):
                await self._ended(node, turn.job)
                over = True
        except REFUSALS as error:
            return verifying.could_not_be_tried(node, self._policy, str(error))
        except anyio.get_cancelled_exc_class():
            if made:
                await self._remove(turn.job)
            raise
        if made and not over:
            await self._remove(turn.job)
        now = self.nodes.get(node.name)
        same = now is not None and (now.key, now.boot_id) == (node.key, node.boot_id)
        trial = self.trials.trial(node, turn.job)
        return verifying.verify(now if now is not None and same else node, trial, self._policy)

    async def _ended(self, node: NodeView, job: str) -> None:
        told = ""
        while (trial := self.trials.trial(node, job)) is None or trial.ended is None:
            waits = verifying.waits_for(trial)
            if waits and waits != told:
                told = waits
                self._say(f"{node.name}: {waits}")
            with anyio.move_on_after(LOOK_AGAIN):
                await self._news.wait()

    async def _remove(self, job: str) -> None:
        with CancelScope(shield=True), anyio.move_on_after(GRACE):
            try:
                await self._jobs.remove(job)
            except REFUSALS as error:
                self._say(f"Job {job} stays until its deadline and goes by itself afterwards: {error}")

    def _heard(self, name: NodeName) -> None:
        del name
        self._news.set()
        self._news = anyio.Event()


async def verify(
    settings: Settings, names: Sequence[str], *, within: float, report: Report, say: Callable[[str], None]
) -> Verified:
    """Verify the nodes of these names, or all with GPUs. SIGINT and SIGTERM end it. Raises NotInTime."""
    dice = random.Random()
    done: list[Verification] = []
    unknown: list[str] = []
    stopped = False
    async with connect(settings.kubernetes.kubeconfig, settings.kubernetes.context) as transport:
        verifier = Verifier(
            transport,
            job=verify_job(settings),
            policy=verify_policy(settings),
            at_once=settings.verify.at_once,
            pace=wishes(settings).pace,
            backoff=Backoff(dice.random, settings.work.first_retry.total_seconds(), within),
            report=report,
            say=say,
            only=names[0] if len(names) == 1 else "",
        )
        async with anyio.create_task_group() as group:

            async def until_signal() -> None:
                nonlocal stopped
                with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    async for _ in signals:
                        stopped = True
                        group.cancel_scope.cancel()
                        return

            group.start_soon(until_signal)
            await started(group, verifier.watches, within)
            chosen = verifier.chosen(names)
            unknown = sorted(set(names) - {str(node.name) for node in chosen})
            await verifier.verify(chosen, done)
            group.cancel_scope.cancel()
    return Verified(sorted(done, key=lambda one: one.node), unknown, stopped)
