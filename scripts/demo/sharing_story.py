"""How are GPUs shared? Slices for development, whole GPUs for production, and a plugin that does not follow."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reconciler.model import names
from reconciler.model.overlay import Subject
from reconciler.model.reasons import SharingReason
from reconciler.sandbox.kinds import DEPLOYMENTS
from reconciler.sandbox.kinds import PODS as POD_KIND
from scripts.demo import placing, pools
from scripts.demo.arrivals import Arrivals
from scripts.demo.board import NotSo
from scripts.demo.company import Company
from scripts.demo.fleet import DEV, PRODUCTION, STUCK, Member
from scripts.demo.overlays import counts_for
from scripts.demo.telling import Telling

_PATIENCE = 30.0
"""Seconds for a device plugin that starts, on a machine that does much else."""
_FULL = f"Insufficient {names.GPU_RESOURCE}"


@dataclass(slots=True)
class SharingStory:
    """`pause` waits so many seconds where somebody watches."""

    company: Company
    telling: Telling
    arrivals: Arrivals
    pause: Callable[[float], Awaitable[None]]

    async def play(self) -> None:
        """All its chapters. Raises NotSo where the story cannot go on."""
        await self._nodes()
        await self._pods()
        await self._stuck_plugin()

    async def _nodes(self) -> None:
        self.telling.chapter(
            f"8. Nodes of both join; the rules: a GPU of dev shows {pools.SLOTS} times, production's once"
        )
        for member in (DEV, PRODUCTION, STUCK):
            await self.arrivals.join(member)
        for member in (DEV, PRODUCTION):
            await self._until_open(member)
            self.arrivals.claim_final(member)
        self._claim_shared(DEV, SharingReason.SLICED, pools.SLOTS)
        self._claim_shared(PRODUCTION, SharingReason.EXCLUSIVE, 1)

    async def _pods(self) -> None:
        self.telling.chapter(f"9. Five pods for dev and two for production, a slot and {pools.POD_MIB} MiB each")
        company = self.company
        for deployment in pools.deployments():
            await company.admin.create(DEPLOYMENTS, placing.NAMESPACE, deployment)
        await placing.until_running(company, "dev", pools.SLOTS)
        await placing.until_running(company, "production", 1)
        await self._claim_full("dev", DEV, f"{pools.SLOTS} pods of dev run on the one GPU of {DEV.name}")
        await self._claim_full("production", PRODUCTION, f"one pod of production has the GPU of {PRODUCTION.name}")
        await self.pause(1.5)

    async def _claim_full(self, app: str, member: Member, what: str) -> None:
        board, name = self.company.board, member.name
        waits, told = await placing.waiting(self.company, app, 1)
        held, offered = board.slots(name)
        free = (board.mib(name) or 0) - board.requested_mib(name)
        running = await placing.running_on(self.company, app)
        self.telling.claim(
            running == [name] * offered and (held, waits) == (offered, 1) and _FULL in told and free >= pools.POD_MIB,
            f"{what}; the next one waits for a slot, though {free} MiB are free",
            f"running on {running}, {held} of {offered} slots held, {free} MiB free, {waits} wait: {told}",
        )
        self.telling.say(f"the scheduler says why: {told}")

    async def _stuck_plugin(self) -> None:
        name, reason = STUCK.name, SharingReason.NO_GPUS_OFFERED
        self.telling.chapter(f"10. The device plugin of {name} does not follow its label")
        company, board = self.company, self.company.board
        told = ("False", reason.value)
        await board.until(lambda: self._says(STUCK) == told, f"{name} says {reason.value}", _PATIENCE)
        condition, pod = board.sharing(name), await self._plugin_pod(name)
        said = condition.message if condition is not None else ""
        self.telling.say(f"the node's condition {names.SHARING_CONDITION} says {reason.value}: {said}")
        self.telling.claim(
            pod in said and board.slots(name) == (0, 0) and board.node(name).has_startup_taint,
            f"that pod is the plugin's on {name}, which offers no slot and keeps its startup taint",
            f"the pod is {pod}, slots {board.slots(name)}, startup taint: {board.node(name).has_startup_taint}",
        )
        await self.pause(1.5)
        namespace, _, pod_name = pod.partition("/")
        self.telling.say(f"somebody does as it says: kubectl delete pod -n {namespace} {pod_name}")
        await company.admin.delete(POD_KIND, namespace, pod_name)
        await self._until_open(STUCK)
        self._claim_shared(STUCK, SharingReason.SLICED, pools.SLOTS)
        await placing.until_running(company, "dev", pools.SLOTS + 1)
        running = await placing.running_on(company, "dev")
        self.telling.claim(running.count(name) == 1, f"the pod of dev that waited runs on {name}", running)
        await self.pause(1.0)

    def _claim_shared(self, member: Member, reason: SharingReason, slots: int) -> None:
        """That the node offers what its profile makes of its GPU, which is what Karpenter was told."""
        board, name = self.company.board, member.name
        told = [
            amount
            for one in board.overlays()
            if counts_for(one, member, Subject.GPUS)
            for amount in one.capacity.values()
        ]
        found = (self._says(member), board.profile(name), board.slots(name)[1], told or [1])
        profile = f"ts-{slots}" if slots > 1 else "exclusive"
        self.telling.claim(
            found == (("True", reason.value), profile, slots, [slots]),
            f"{name}: {reason.value}, profile {profile}, {slots} {names.GPU_RESOURCE}, as Karpenter knows",
            found,
        )

    async def _until_open(self, member: Member) -> None:
        def opened() -> bool:
            return self._says(member)[0] == "True" and self.arrivals.settled(member)

        await self.company.board.until(opened, f"{member.name} is open", _PATIENCE)

    def _says(self, member: Member) -> tuple[str, str]:
        """Status and reason of the condition GPUSharingReady."""
        condition = self.company.board.sharing(member.name)
        return (condition.status, condition.reason) if condition is not None else ("", "")

    async def _plugin_pod(self, node: str) -> str:
        """Namespace and name of the device plugin's pod there, as the API server has it. Raises NotSo."""
        items, _ = await self.company.admin.list(POD_KIND, f"spec.nodeName={node}")
        namespace = pools.chart().namespace
        found = [one["metadata"]["name"] for one in items if one["metadata"]["namespace"] == namespace]
        if len(found) != 1:
            raise NotSo(f"there is one pod of the device plugin on {node}, but {found}")
        return f"{namespace}/{found[0]}"
