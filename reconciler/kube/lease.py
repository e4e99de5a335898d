"""Who leads? One replica, by a Lease; and each knows by its own clock alone how long it may still write.

Rule 1: times of other machines are never compared with ours. Another's lease has run out when it has not changed for
its duration by our monotonic clock, since we first saw it so. Rule 2: our deadline counts from before a renewal was
sent, so it passes before anybody else may think that ours has run out. Rule 3: whoever stops gives the lease back.
"""

import contextlib
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from reconciler.kube import lease_wire, write
from reconciler.kube.errors import ask
from reconciler.kube.fence import NotLeader
from reconciler.kube.lease_wire import LeaseWire
from reconciler.kube.trouble import Report, Trouble
from reconciler.runtime.clock import Clock
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Request, Response, Transport


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds; client-go's defaults."""

    duration: float = 15.0
    """Others wait so long after our last renewal."""
    renew_within: float = 10.0
    """We write no more so long after our last renewal."""
    retry: float = 2.0
    release: float = 3.0
    """For giving the lease back at the end."""


class Lease:
    """A candidate. `fence` is what every write asks; `run` campaigns and renews until cancelled."""

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        random: Callable[[], float],
        report: Report,
        changed: Callable[[bool], None] = lambda leading: None,
        times: LeaseTimes | None = None,
    ) -> None:
        self.identity = identity
        self.holder = ""
        """Who leads, as last seen."""
        self._transport = transport
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._namespace = namespace
        self._name = name
        self._clock = clock
        self._random = random
        self._report = report
        self._changed = changed
        self._times = times if times is not None else LeaseTimes()
        self._deadline = -math.inf
        self._led = False
        self._turned = anyio.Event()
        self._seen: LeaseWire | None = None
        self._seen_at = 0.0
        self._told = ""

    # --- what others ask

    @property
    def leading(self) -> bool:
        return anyio.current_time() < self._deadline

    def fence(self) -> float:
        """Seconds that we may still write. Raises NotLeader (invariant I4)."""
        left = self._deadline - anyio.current_time()
        if left <= 0:
            raise NotLeader(f"the lease {self._namespace}/{self._name} is not ours (any more)")
        return left

    async def gained(self) -> None:
        """Return once we lead."""
        while not self._led:
            await self._turned.wait()

    async def lost(self) -> None:
        """Return once we do not lead, at the latest when the deadline passes."""
        while self._led:
            await self._turned.wait()

    # --- the campaign

    @asynccontextmanager
    async def candidacy(self) -> AsyncIterator["Lease"]:
        """Campaign inside the block; give the lease back at its end."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.run)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def run(self) -> None:
        """Campaign, lead, lose, campaign again, until cancelled; then give the lease back."""
        try:
            while True:
                await self._once()
                await anyio.sleep(self._pause())
        finally:
            with anyio.move_on_after(self._times.release, shield=True):
                await self._release()

    async def _once(self) -> None:
        """One try. A hung request must leave time for another one before the deadline."""
        started = anyio.current_time()
        left = self._deadline - started if self._led else math.inf
        try:
            with anyio.move_on_after(max(0.1, min(left, self._times.renew_within / 2))) as scope:
                await self._campaign(started)
                self._told = ""
            if scope.cancelled_caught:
                self._tell("no answer in time")
        except (Stale, Gone):
            self._seen = None  # somebody was faster: look before the next try
        except (Unavailable, Forbidden, Rejected) as error:
            self._tell(str(error))
        self._settle()

    async def _campaign(self, started: float) -> None:
        """Raises what `ask` raises."""
        if self._seen is None or not self._led:
            try:
                self._look(lease_wire.decode((await ask(self._transport, Request("GET", self._path))).body))
            except Gone:
                if self._seen is None or self._is_free(self._seen):
                    self._won(started, await self._create())
                return
        seen = self._seen
        if seen is not None and self._is_free(seen):
            self._won(started, await ask(self._transport, self._claim(seen)))
        else:
            self._deadline = -math.inf

    async def _create(self) -> Response:
        now = self._clock.now()
        spec = lease_wire.spec(
            self.identity, self._times.duration, now, acquired=lease_wire.micro_time(now), transitions=0
        )
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        try:
            return await ask(self._transport, _whole(write.request("POST", self._collection, body)))
        except Gone as error:
            raise Rejected(f"{error}: the namespace is missing") from error

    def _claim(self, seen: LeaseWire) -> Request:
        """Renew or take over: a merge patch, so that labels and fields of others stay; the version makes it a swap."""
        now, ours = self._clock.now(), self.holder == self.identity
        transitions = (seen.spec.lease_transitions if seen.spec is not None else None) or 0
        spec = lease_wire.spec(
            self.identity,
            self._times.duration,
            now,
            acquired=None if ours else lease_wire.micro_time(now),
            transitions=None if ours else transitions + 1,
        )
        return self._patch(seen, spec)

    def _patch(self, seen: LeaseWire, spec: dict[str, Any]) -> Request:
        body = {"metadata": {"resourceVersion": seen.metadata.resource_version}, "spec": spec}
        return _whole(write.request("PATCH", self._path, body, write.MERGE))

    async def _release(self) -> None:
        """Let the next one begin at once. Best effort: whatever fails, the lease runs out by itself."""
        seen, held = self._seen, self._led
        self._deadline = -math.inf
        self._settle()
        if seen is not None and held:
            spec = lease_wire.spec("", 1, self._clock.now())
            with contextlib.suppress(Stale, Gone, Unavailable, Forbidden, Rejected):
                await ask(self._transport, self._patch(seen, spec))

    def _look(self, lease: LeaseWire) -> None:
        """Note the time of every change; only changes tell that another leader is alive."""
        if self._seen is None or self._seen.spec != lease.spec:
            self._seen_at = anyio.current_time()
        self._seen = lease
        self.holder = (lease.spec.holder_identity if lease.spec is not None else None) or ""

    def _is_free(self, lease: LeaseWire) -> bool:
        if self.holder in ("", self.identity):
            return True
        duration = (lease.spec.lease_duration_seconds if lease.spec is not None else None) or self._times.duration
        return anyio.current_time() >= self._seen_at + duration

    def _won(self, started: float, response: Response) -> None:
        self._look(lease_wire.decode(response.body))
        if self.holder == self.identity:
            self._deadline = started + self._times.renew_within

    def _settle(self) -> None:
        """Tell when we have become, or ceased to be, the leader."""
        if self.leading != self._led:
            self._led = not self._led
            turned, self._turned = self._turned, anyio.Event()
            turned.set()
            self._changed(self._led)

    def _pause(self) -> float:
        """Until the next try: no later than the deadline, so that its passing is told in time."""
        wait = self._times.retry * (1.0 + self._random() / 5)
        return max(0.0, min(wait, self._deadline - anyio.current_time())) if self._led else wait

    def _tell(self, why: str) -> None:
        """Once for the same words in a row."""
        if why == self._told:
            return
        self._told = why
        self._report(Trouble("Lease", f"{self._namespace}/{self._name}", why))


def _whole(request: Request) -> Request:
    """Here the answer is read: it is the version of the next renewal."""
    return replace(request, accept=write.JSON)
