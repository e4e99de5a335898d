"""Where are the example's pods, and which limit stops the next one on a node?"""

from collections.abc import Mapping

import anyio

from reconciler.decide.explanation import Explanation
from reconciler.decide.limits import PODS, binds, sentence
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import PODS as POD_KIND
from scripts.demo.board import Board, NotSo
from scripts.demo.company import POD_MIB, Company
from scripts.demo.fleet import Member
from scripts.demo.telling import Telling

NAMESPACE = "default"


def placed(board: Board) -> int:
    """How many pods that ask for GPU memory are bound to a node."""
    return sum(len(board.pods_on(node.name)) for node in board.nodes.all())


def room(explanations: Mapping[str, Explanation], board: Board) -> int:
    """How many pods of the example fit in all, with those that run."""
    total = 0
    for name, each in explanations.items():
        first = binds(each.limits)
        total += len(board.pods_on(name)) + (first.fits if first is not None else 0)
    return total


async def until_running(company: Company, app: str, count: int, seconds: float = 90.0) -> None:
    """Wait until that many pods of the app are Running. Raises NotSo."""
    await company.board.until(lambda: placed(company.board) >= count, f"{count} pods are placed", seconds)
    running = 0
    with anyio.move_on_after(seconds):
        while running < count:
            await anyio.sleep(0.25)
            running = len(await running_on(company, app))
        return
    raise NotSo(f"not within {seconds:g} s: {count} pods of {app} run (last: {running})")


async def running_on(company: Company, app: str) -> list[str]:
    """The nodes of the app's pods that run, one for each pod."""
    pods = await _pods(company, app)
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod["status"].get("phase") == "Running")


async def waiting(company: Company, app: str, count: int, seconds: float = 30.0) -> tuple[int, str]:
    """How many pods of the app wait for a node once each of `count` has been told why, and what the scheduler says."""
    told: list[str] = []
    with anyio.move_on_after(seconds):
        while len(told) < count:
            await anyio.sleep(0.25)
            told = [
                each["message"]
                for pod in await _pods(company, app)
                for each in pod["status"].get("conditions") or []
                if not pod["spec"].get("nodeName") and each["type"] == "PodScheduled" and each.get("message")
            ]
    return len(told), told[-1].partition(". ")[0] if told else "nothing"


async def _pods(company: Company, app: str) -> list[Json]:
    """The app's pods, as the API server has them."""
    items, _ = await company.admin.list(POD_KIND, f"metadata.namespace={NAMESPACE}")
    return [item for item in items if (item["metadata"].get("labels") or {}).get("app") == app]


def claim_full(company: Company, member: Member, telling: Telling) -> None:
    """That the node is full, and by which limit."""
    board, name = company.board, member.name
    explanation = company.explanations()[name]
    first = binds(explanation.limits)
    held, mib, pods = board.requested_mib(name), board.mib(name) or 0, len(board.pods_on(name))
    what = "its pods" if first is not None and first.resource == PODS else "its GPU memory"
    truly = pods == member.max_pods if first is not None and first.resource == PODS else mib - held < POD_MIB
    telling.claim(
        first is not None and first.fits == 0 and held <= mib and truly,
        f"{name} is full, and what binds is {what}: {pods} of {member.max_pods} pods, {held} of {mib} MiB",
        sentence(explanation.limits),
    )
