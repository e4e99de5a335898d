"""What does a write do? Create, replace and patch, with the masks between an object and its status."""

from collections.abc import Callable

from reconciler.sandbox import amounts, defaults, field_owners, validation
from reconciler.sandbox.deleting import drop, released
from reconciler.sandbox.encoding import Json, encode, stamp
from reconciler.sandbox.kinds import DEFINITIONS, DEPLOYMENTS, JOBS, PODS, Kind, defined
from reconciler.sandbox.refusal import (
    STALE,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
    undecodable_patch,
)
from reconciler.sandbox.routes import Route
from reconciler.sandbox.store import Store, object_key

_KEPT = ("creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")
"""Metadata that only the server changes."""


def create(store: Store, route: Route, obj: Json, *, dry_run: bool = False, manager: str = "") -> bytes:
    """Store a new object. Raises Refusal: 400, 409, 422."""
    kind = route.shelf.kind
    meta = obj.setdefault("metadata", {})
    _name(store, route, meta)
    meta["uid"] = store.new_uid()
    defaults.on_create(kind, obj)
    defaults.on_write(kind, obj)
    _canonicalise(kind, obj, patched=False)
    if kind == JOBS:
        _label_job_template(obj)
    validation.check(kind, obj, None)
    key = object_key(route.namespace, meta["name"])
    if route.shelf.raw(key) is not None:
        raise already_exists(kind, meta["name"])
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "selfLink", "managedFields"):
        meta.pop(field, None)
    meta["creationTimestamp"] = stamp(store.now())
    if defaults.counts_generations(kind):
        meta["generation"] = 1
    field_owners.record(kind, None, obj, manager, "", store.now())
    if dry_run:
        return encode(obj)
    data = store.put(kind, key, obj)
    if kind == DEFINITIONS:
        for each in defined(obj):
            store.open(each)
    return data


def _canonicalise(kind: Kind, obj: Json, *, patched: bool) -> None:
    try:
        amounts.canonicalise(kind, obj)
    except ValueError as wrong:
        if patched:
            raise undecodable_patch(str(wrong)) from wrong
        text = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {wrong}'
        raise bad_request(text) from wrong


def _name(store: Store, route: Route, meta: Json) -> None:
    kind = route.shelf.kind
    if kind.namespaced:
        if meta.setdefault("namespace", route.namespace) != route.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        meta.pop("namespace", None)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"] + store.new_suffix()


def _label_job_template(job: Json) -> None:
    """Every Job selects its pods by its own uid (batch/job strategy, generateSelector)."""
    meta = job["metadata"]
    marks = {"batch.kubernetes.io/controller-uid": meta["uid"], "batch.kubernetes.io/job-name": meta["name"]}
    marks |= {"controller-uid": meta["uid"], "job-name": meta["name"]}
    meta["labels"] = {**(meta.get("labels") or {}), **marks}
    template = job["spec"]["template"].setdefault("metadata", {})
    template["labels"] = {**(template.get("labels") or {}), **marks}
    job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}


def update(
    store: Store,
    route: Route,
    change: Callable[[Json], Json],
    *,
    dry_run: bool = False,
    replace: bool = False,
    manager: str = "",
) -> bytes:
    """Change an object by `change`, which gets a copy of the old one. An equal result is no write. Raises Refusal."""
    kind, key = route.shelf.kind, route.key
    old = store.get(kind, key)
    if old is None:
        raise not_found(kind, route.name)
    new: Json = {"kind": kind.kind, "apiVersion": kind.api_version} | change(_copy(store, route))
    meta = new.setdefault("metadata", {})
    if replace and (uid := meta.get("uid")) and uid != old["metadata"]["uid"]:
        # A PUT states its UID as a precondition; a patch does not, and changes an immutable field instead (422, below).
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
        raise conflict(kind, route.name, why)
    if meta.get("resourceVersion") and meta["resourceVersion"] != old["metadata"]["resourceVersion"]:
        raise conflict(kind, route.name, STALE)
    for field in _KEPT:
        _restore(meta, old["metadata"], field)
    for field in ("uid", "name", "namespace"):
        if not meta.get(field):
            _restore(meta, old["metadata"], field)
    meta["resourceVersion"] = old["metadata"]["resourceVersion"]
    _mask(kind, route.subresource, new, old)
    defaults.on_write(kind, new)
    _canonicalise(kind, new, patched=not replace)
    validation.check(kind, new, old)
    meta = new["metadata"]
    if new == old:
        return route.shelf.raw(key) or b""
    if defaults.counts_generations(kind) and new.get("spec") != old.get("spec"):
        meta["generation"] = old["metadata"].get("generation", 1) + 1
    field_owners.record(kind, old, new, manager, route.subresource, store.now())
    if dry_run:
        return encode(new)
    data = store.put(kind, key, new)
    if released(kind, meta):
        return drop(store, kind, key, new)
    return data


def _copy(store: Store, route: Route) -> Json:
    obj = store.get(route.shelf.kind, route.key)
    assert obj is not None
    return obj


def _mask(kind: Kind, subresource: str, new: Json, old: Json) -> None:
    """A status write keeps the rest of the object, a main write keeps the status; metadata differs by kind."""
    if not kind.status:
        return
    keep = ["status"]
    if subresource == "status":
        keep = [part for part in {**new, **old} if part not in ("status", "metadata", "kind", "apiVersion")]
        if kind.custom:
            new["metadata"] = dict(old["metadata"])
        elif kind == DEPLOYMENTS:
            _restore(new["metadata"], old["metadata"], "labels")
        elif kind == PODS:
            _restore(new["metadata"], old["metadata"], "ownerReferences")
    for part in keep:
        _restore(new, old, part)


def _restore(new: Json, old: Json, part: str) -> None:
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)


def check_type(kind: Kind, obj: object) -> Json:
    """The decoded body, if it is an object of this kind. Raises a 400 Refusal."""
    if not isinstance(obj, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): it is no JSON object")
    given = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if given != (kind.api_version, kind.kind):
        raise bad_request(
            f"{given[0]} {given[1]} in the request body does not match {kind.api_version} {kind.kind} of the path"
        )
    return obj


def refuse_late_version(kind: Kind, obj: Json) -> None:
    """Custom resources and leases cannot be replaced without saying which version is meant."""
    if (kind.custom or kind.plural == "leases") and not obj.get("metadata", {}).get("resourceVersion"):
        what = "Invalid value: 0: must be specified for an update"
        raise invalid(kind, obj.get("metadata", {}).get("name", ""), [("metadata.resourceVersion", what)])
