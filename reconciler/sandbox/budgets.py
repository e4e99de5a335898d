"""How many pods may be disrupted now? The disruption controller writes the status of PodDisruptionBudgets."""

import math
from collections.abc import Callable
from datetime import datetime

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client
from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.eviction import FORGET_AFTER, is_ready, still_disrupted
from reconciler.sandbox.kinds import BUDGETS, PODS, REPLICASETS
from reconciler.sandbox.mirror import Bell, Mirrors
from reconciler.sandbox.owning import controller_of
from reconciler.sandbox.selectors import label_selector_accepts


class BudgetController:
    """Goes over all budgets whenever a pod or a budget changed."""

    def __init__(self, client: Client, mirrors: Mirrors, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._bell = Bell()
        self._budgets = mirrors.of(BUDGETS, self._bell)
        self._pods = mirrors.of(PODS, self._bell)
        self._sets = mirrors.of(REPLICASETS, self._bell)

    async def run(self) -> None:
        await attend(self._bell, (self._budgets, self._pods, self._sets), self._pass)

    async def _pass(self) -> float | None:
        waits = [await self._reconcile(budget) for budget in self._budgets]
        return FORGET_AFTER.total_seconds() if any(waits) else None

    async def _reconcile(self, budget: Json) -> bool:
        """Bring one budget up to date; says whether some disrupted pod is yet to be forgotten."""
        meta, spec = budget["metadata"], budget["spec"]
        pods = [
            pod
            for pod in self._pods
            if pod["metadata"]["namespace"] == meta["namespace"]
            and label_selector_accepts(spec.get("selector"), pod["metadata"].get("labels") or {})
            and pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]
        now = stamp(self._now())
        status = self._status(budget, pods, now)
        old = budget.get("status") or {}
        if any(old.get(key) != value for key, value in status.items() if key != "conditions"):
            forgotten = {name: None for name in old.get("disruptedPods") or {}}
            disrupted = {**forgotten, **status["disruptedPods"]}
            held = {"resourceVersion": meta["resourceVersion"]}
            change = {"metadata": held, "status": {**status, "disruptedPods": disrupted}}
            written = await self._client.merge(BUDGETS, meta["namespace"], meta["name"], change, subresource="status")
            self._budgets.note(written)
        return bool(status["disruptedPods"])

    def _status(self, budget: Json, pods: list[Json], now: str) -> Json:
        spec = budget["spec"]
        disrupted = still_disrupted(budget.get("status") or {}, {_name(pod) for pod in pods if _present(pod)}, now)
        healthy = sum(is_ready(pod) and _present(pod) and _name(pod) not in disrupted for pod in pods)
        failed = self._without_scale(spec, pods)
        if failed:
            expected, wanted, allowed = len(pods), healthy, 0
        else:
            expected = self._expected(spec, pods)
            if "maxUnavailable" in spec:
                wanted = max(0, expected - _share(spec["maxUnavailable"], expected))
            else:
                wanted = _share(spec.get("minAvailable", 1), expected)
            allowed = max(0, healthy - wanted) if expected else 0
        reason = "SyncFailed" if failed else "SufficientPods" if allowed else "InsufficientPods"
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "observedGeneration": budget["metadata"]["generation"],
            "lastTransitionTime": now,
            "reason": reason,
            "message": failed,
        }
        return {
            "observedGeneration": budget["metadata"]["generation"],
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": expected,
            "disruptedPods": disrupted,
            "conditions": [condition],
        }

    def _expected(self, spec: Json, pods: list[Json]) -> int:
        """Pods that count: those there for a plain number, what their controllers want for a share."""
        if "maxUnavailable" not in spec and isinstance(spec.get("minAvailable", 1), int):
            return len(pods)
        owners = {owner["uid"] for pod in pods if (owner := controller_of(pod)) is not None}
        return sum(each["spec"]["replicas"] for each in self._sets if each["metadata"]["uid"] in owners)

    def _without_scale(self, spec: Json, pods: list[Json]) -> str:
        """A share needs the scale of each pod's controller, and a Job has none."""
        if "maxUnavailable" not in spec and isinstance(spec.get("minAvailable", 1), int):
            return ""
        job = next((owner for pod in pods if (owner := controller_of(pod)) and owner["kind"] == "Job"), None)
        return "jobs.batch does not implement the scale subresource" if job else ""


def _share(amount: int | str, whole: int) -> int:
    return amount if isinstance(amount, int) else math.ceil(whole * int(amount.rstrip("%")) / 100)


def _present(pod: Json) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


def _name(pod: Json) -> str:
    return str(pod["metadata"]["name"])
