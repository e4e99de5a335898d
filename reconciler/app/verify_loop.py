"""How does the loop that verifies nodes once a boot hang together?"""

from reconciler.app.voice import Voice
from reconciler.app.world import World
from reconciler.controllers.ports import Actuator
from reconciler.controllers.verification import NodeVerification
from reconciler.kube import verify_views
from reconciler.kube.cache import NodeCache
from reconciler.kube.fence import Fence
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.verify_job import VerifyJobs
from reconciler.kube.verify_views import VerifyCache
from reconciler.kube.watches import Watches
from reconciler.model.node import NodeName, NodeView
from reconciler.model.verification import VerifyPolicy
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.worker import Worker
from reconciler.runtime.workqueue import WorkQueue


class VerifyLoop:
    """Queued by nodes and verify Jobs; worked on while we lead."""

    def __init__(
        self,
        world: World,
        *,
        policy: VerifyPolicy,
        job: ProbeJobSettings,
        may_write: Fence,
        nodes: NodeCache,
        actuator: Actuator,
        watches: Watches,
        backoff: Backoff,
        voice: Voice,
    ) -> None:
        self._nodes = nodes
        self._queue: WorkQueue[NodeName] = WorkQueue()
        trials = VerifyCache(self._queue.add)
        watches.add(verify_views.jobs(voice.trouble, job.namespace), trials.jobs.take)
        watches.add(verify_views.pods(voice.trouble, job.namespace), trials.pods.take)
        self.loop = NodeVerification(
            nodes=nodes,
            trials=trials,
            jobs=VerifyJobs(world.transport, job, may_write=may_write),
            actuator=actuator,
            policy=policy,
            clock=world.clock,
        )
        nodes.on_change(self._changed)
        self.worker = Worker("verify", self._queue, self.loop.reconcile, backoff, voice)

    def begin(self) -> None:
        """We begin to lead: look at every node."""
        for node in self._nodes.all():
            self._queue.add(node.name)

    def _changed(self, before: NodeView | None, after: NodeView | None) -> None:
        node = after if after is not None else before
        if node is not None:
            self._queue.add(node.name)
