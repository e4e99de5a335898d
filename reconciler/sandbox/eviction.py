"""May this pod be evicted? The Eviction subresource with its budgets (pkg/registry/core/pod/storage/eviction.go)."""

from datetime import timedelta

from reconciler.sandbox.deleting import DeleteOptions, delete, delete_options
from reconciler.sandbox.encoding import Json, moment, stamp
from reconciler.sandbox.kinds import BUDGETS, PODS
from reconciler.sandbox.refusal import Refusal, bad_request, not_found
from reconciler.sandbox.routes import Route
from reconciler.sandbox.selectors import label_selector_accepts
from reconciler.sandbox.store import Store, object_key

FORGET_AFTER = timedelta(minutes=2)
"""How long a disrupted pod that did not go still counts against its budget."""

_MOST_DISRUPTED = 2000

MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(store: Store, route: Route, eviction: Json, query_dry_run: bool) -> None:
    """Delete the pod if its budget allows. Returns for a 201; raises Refusal: 400, 403, 404, 409, 429, 500."""
    if (eviction.get("metadata") or {}).get("name") not in (None, "", route.name):
        raise bad_request("name in URL does not match name in Eviction object")
    body = eviction.get("deleteOptions") or {}
    if body.get("dryRun") and not query_dry_run:
        raise bad_request("Non-dry-run and dry-run options disagree between query and body")
    options = delete_options({"dryRun": "All"} if query_dry_run else {}, body)
    pod = store.get(PODS, route.key)
    if pod is None:
        raise not_found(PODS, route.name)
    if not _free_to_go(pod):
        budgets = _budgets_of(store, route.namespace, pod)
        if len(budgets) > 1:
            raise Refusal(500, "", MANY_BUDGETS)
        if budgets and not _sick_enough(pod, budgets[0]):
            _spend(store, budgets[0], route.name, options.dry_run)
    if not options.dry_run:
        _announce(store, route, options)
    delete(store, route, options)


def _free_to_go(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") in (
        "Pending",
        "Succeeded",
        "Failed",
    )


def _budgets_of(store: Store, namespace: str, pod: Json) -> list[Json]:
    labels = pod["metadata"].get("labels") or {}
    return [
        budget
        for budget in store.all(BUDGETS)
        if budget["metadata"]["namespace"] == namespace
        and label_selector_accepts(budget["spec"].get("selector"), labels)
    ]


def is_ready(pod: Json) -> bool:
    """Whether the pod's Ready condition is True."""
    conditions = pod.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _sick_enough(pod: Json, budget: Json) -> bool:
    """A pod that is not ready may go without asking, if its budget's policy says so."""
    if is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = int(status.get("desiredHealthy", 0))
    return int(status.get("currentHealthy", 0)) >= wanted > 0


def _spend(store: Store, budget: Json, pod: str, dry_run: bool) -> None:
    """Take one disruption from the budget, or refuse."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    if int(status.get("observedGeneration", 0)) < int(budget["metadata"]["generation"]):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", retry_after=10)
    allowed = int(status.get("disruptionsAllowed", 0))
    disrupted = status.setdefault("disruptedPods", {})
    if allowed < 0:
        raise Refusal(
            403, "Forbidden", f'poddisruptionbudgets.policy "{name}" is forbidden: pdb disruptions allowed is negative'
        )
    if len(disrupted) > _MOST_DISRUPTED:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Refusal(403, "Forbidden", f'poddisruptionbudgets.policy "{name}" is forbidden: {text}')
    if allowed == 0:
        raise _too_many(_why_none(name, status))
    if dry_run:
        return
    status["disruptionsAllowed"] = allowed - 1
    disrupted[pod] = stamp(store.now())
    store.put(BUDGETS, object_key(budget["metadata"]["namespace"], name), budget)


def _why_none(name: str, status: Json) -> str:
    failed = next((each for each in status.get("conditions", []) if each.get("reason") == "SyncFailed"), None)
    if failed is not None:
        why = f"does not allow evicting pods currently because it failed sync: {failed['message']}"
        return f"The disruption budget {name} {why}"
    needed, present = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    return f"The disruption budget {name} needs {needed} healthy pods and has {present} currently"


def _too_many(cause: str, retry_after: float | None = None) -> Refusal:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    return Refusal(429, "TooManyRequests", VIOLATES, details, retry_after)


def _announce(store: Store, route: Route, options: DeleteOptions) -> None:
    """The condition is written before the preconditions are compared; a mismatch then refuses, budget spent or not."""
    pod = store.get(PODS, route.key)
    if pod is None or (options.uid is not None and pod["metadata"]["uid"] != options.uid):
        return
    conditions = [each for each in pod["status"].get("conditions", []) if each["type"] != "DisruptionTarget"]
    now = stamp(store.now())
    conditions.append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
    )
    pod["status"]["conditions"] = conditions
    store.put(PODS, route.key, pod)


def still_disrupted(status: Json, present: set[str], now: str) -> Json:
    """The disrupted pods that are still there and were evicted less than two minutes ago."""
    at = moment(now)
    return {
        name: since
        for name, since in (status.get("disruptedPods") or {}).items()
        if name in present and at - moment(since) < FORGET_AFTER
    }
