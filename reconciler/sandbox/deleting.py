"""What does a deletion do? A pod on a node waits for its kubelet, a finalizer holds, preconditions are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from reconciler.sandbox.encoding import Json, encode, stamp
from reconciler.sandbox.kinds import DEFINITIONS, JOBS, PODS, Kind, defined
from reconciler.sandbox.refusal import bad_request, conflict, not_found
from reconciler.sandbox.routes import Route
from reconciler.sandbox.store import Store

_TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. `grace` None honours the pod's own period."""

    grace: int | None = None
    uid: str | None = None
    version: str | None = None
    orphan: bool | None = None
    dry_run: bool = False


def delete_options(query: Mapping[str, str], body: Json) -> DeleteOptions:
    """Read DeleteOptions from query and body; the body wins. Raises a 400 Refusal."""
    policy = body.get("propagationPolicy", query.get("propagationPolicy"))
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    held = body.get("preconditions") or {}
    try:
        seconds = None if grace is None else int(grace)
    except (TypeError, ValueError) as wrong:
        raise bad_request(f"gracePeriodSeconds: {grace!r} is not a whole number") from wrong
    return DeleteOptions(
        grace=seconds,
        uid=held.get("uid"),
        version=held.get("resourceVersion"),
        orphan=None if policy is None else policy == "Orphan",
        dry_run=bool(body.get("dryRun")) or query.get("dryRun") == "All",
    )


def delete(store: Store, route: Route, options: DeleteOptions) -> tuple[bytes, bool]:
    """Delete, or mark a pod for its kubelet; says the object and whether it is gone. Raises Refusal: 404, 409."""
    kind, key = route.shelf.kind, route.key
    obj = store.get(kind, key)
    if obj is None:
        raise not_found(kind, route.name)
    meta = obj["metadata"]
    hold_preconditions(kind, meta, options)
    if options.dry_run:
        return encode(obj), True
    if options.orphan if options.orphan is not None else kind == JOBS:
        _orphan(store, meta)
    grace = _grace(obj, options.grace) if kind == PODS else 0
    if grace == 0 and not meta.get("finalizers"):
        return drop(store, kind, key, obj), True
    if "deletionTimestamp" not in meta or grace < meta.get("deletionGracePeriodSeconds", 0):
        meta["deletionTimestamp"] = stamp(store.now() + timedelta(seconds=grace))
        meta["deletionGracePeriodSeconds"] = grace
        return store.put(kind, key, obj), False
    return route.shelf.raw(key) or b"", False


def hold_preconditions(kind: Kind, meta: Json, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind, meta["name"], why)
    if options.version is not None and options.version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({meta['resourceVersion']}). The object might have been modified"
        )
        raise conflict(kind, meta["name"], why)


def _grace(pod: Json, wanted: int | None) -> int:
    """podStrategy.CheckGracefulDelete: a pod without a node, or one that has ended, needs no kubelet's consent."""
    spec = pod.get("spec", {})
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in _TERMINAL:
        return 0
    grace = wanted if wanted is not None else spec.get("terminationGracePeriodSeconds", 30)
    return 1 if grace < 0 else int(grace)


def _orphan(store: Store, owner: Json) -> None:
    """Take the owner's name off what it owns: batch/v1 Jobs leave their pods behind unless told otherwise."""
    for key, data in store.shelf(PODS).items():
        if owner["uid"].encode() not in data:
            continue
        pod = store.get(PODS, key)
        if pod is None:
            continue
        owners = pod["metadata"].get("ownerReferences", [])
        kept = [each for each in owners if each.get("uid") != owner["uid"]]
        if len(kept) != len(owners):
            pod["metadata"]["ownerReferences"] = kept
            store.put(PODS, key, pod)


def released(kind: Kind, meta: Json) -> bool:
    """Marked for deletion, and nothing holds it any more."""
    return (
        "deletionTimestamp" in meta
        and not meta.get("finalizers")
        and (kind != PODS or not meta.get("deletionGracePeriodSeconds"))
    )


def drop(store: Store, kind: Kind, key: str, obj: Json) -> bytes:
    data = store.remove(kind, key)
    if kind == DEFINITIONS:
        for each in defined(obj):
            store.close(each)
    return data
