"""Would the real server accept this object? The rules that matter for nodes, pods, jobs and metadata."""

import re
from collections.abc import Iterator

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import JOBS, NODES, PODS, Kind
from reconciler.sandbox.quantity import parse
from reconciler.sandbox.refusal import invalid

Fault = tuple[str, str]
"""(field, what is wrong)."""

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_EFFECT_LIST = ", ".join(f'"{effect}"' for effect in _EFFECTS)
_LABEL_RULE = "a valid label must be an empty string or consist of alphanumeric characters"
_POD_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")


def check(kind: Kind, obj: Json, old: Json | None) -> None:
    """Raise a 422 Refusal that names every field that is wrong. `old` is None for a new object."""
    faults = list(_metadata(obj, old))
    if kind == NODES:
        faults += _node(obj)
    elif kind == PODS:
        faults += _pod_spec(obj.get("spec") or {}, "spec")
        if old is not None:
            faults += _pod_change(obj, old)
    elif kind == JOBS:
        spec = obj["spec"]["template"]["spec"]
        faults += _pod_spec(spec, "spec.template.spec")
        if spec.get("restartPolicy") not in ("Never", "OnFailure"):
            wrong = spec.get("restartPolicy", "")
            faults.append(
                (
                    "spec.template.spec.restartPolicy",
                    f'Unsupported value: "{wrong}": supported values: "OnFailure", "Never"',
                )
            )
    if faults:
        raise invalid(kind, obj["metadata"].get("name", ""), faults)


def is_extended(resource: str) -> bool:
    """Extended resources have a domain that is not kubernetes.io (core/helper IsExtendedResourceName)."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def qualified(name: str) -> bool:
    """`domain/name` or `name`, each within its length."""
    domain, slash, last = name.rpartition("/")
    if slash and not (len(domain) <= 253 and _SUBDOMAIN.fullmatch(domain)):
        return False
    return len(last) <= 63 and _NAME_PART.fullmatch(last) is not None


def label_value_fits(value: str) -> bool:
    return len(value) <= 63 and (value == "" or _NAME_PART.fullmatch(value) is not None)


def _metadata(obj: Json, old: Json | None) -> Iterator[Fault]:
    meta = obj["metadata"]
    name = meta.get("name", "")
    if not (len(name) <= 253 and _SUBDOMAIN.fullmatch(name)):
        yield (
            "metadata.name",
            f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case letters and digits',
        )
    for key, value in (meta.get("labels") or {}).items():
        if not qualified(key):
            yield "metadata.labels", f'Invalid value: "{key}": name part must consist of alphanumeric characters'
        if len(value) > 63:
            yield "metadata.labels", f'Invalid value: "{value}": must be no more than 63 bytes'
        elif not label_value_fits(value):
            yield (
                "metadata.labels",
                f'Invalid value: "{value}": {_LABEL_RULE}',
            )
    for key in meta.get("annotations") or {}:
        if not qualified(key.lower()):
            yield "metadata.annotations", f'Invalid value: "{key}": name part must consist of alphanumeric characters'
    if old is not None:
        for field in ("uid", "name", "namespace"):
            if meta.get(field) != old["metadata"].get(field):
                yield f"metadata.{field}", f'Invalid value: "{meta.get(field)}": field is immutable'


def _quantity(field: str, resource: str, text: object) -> tuple[str | None, list[Fault]]:
    """The canonical form, or what is wrong."""
    try:
        amount = parse(text)
    except ValueError as wrong:
        return None, [(field, f'Invalid value: "{text}": {wrong}')]
    if amount.amount < 0:
        return None, [(field, f'Invalid value: "{text}": must be greater than or equal to 0')]
    if is_extended(resource) and not amount.whole:
        return None, [(field, f'Invalid value: "{text}": must be an integer')]
    return amount.canonical(), []


def _amounts(field: str, amounts: Json | None) -> Iterator[Fault]:
    """Check a resource list and rewrite it canonically in place."""
    for resource, text in (amounts or {}).items():
        canonical, faults = _quantity(f"{field}.{resource}", resource, text)
        yield from faults
        if amounts is not None and canonical is not None:
            amounts[resource] = canonical


def _node(obj: Json) -> Iterator[Fault]:
    status = obj.get("status") or {}
    yield from _amounts("status.capacity", status.get("capacity"))
    yield from _amounts("status.allocatable", status.get("allocatable"))
    seen = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or []):
        field = f"spec.taints[{index}]"
        if not qualified(taint.get("key", "")):
            yield (
                f"{field}.key",
                f'Invalid value: "{taint.get("key", "")}": name part must consist of alphanumeric characters',
            )
        if not label_value_fits(taint.get("value", "")):
            yield (
                f"{field}.value",
                f'Invalid value: "{taint.get("value")}": {_LABEL_RULE}',
            )
        if taint.get("effect") not in _EFFECTS:
            yield (
                f"{field}.effect",
                f'Unsupported value: "{taint.get("effect", "")}": supported values: {_EFFECT_LIST}',
            )
        mark = (taint.get("key"), taint.get("effect"))
        if mark in seen:
            yield field, "Duplicate value: taints must be unique by key and effect pair"
        seen.add(mark)


def _pod_spec(spec: Json, field: str) -> Iterator[Fault]:
    if not spec.get("containers"):
        yield f"{field}.containers", "Required value"
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or []):
            place = f"{field}.{group}[{index}]"
            for needed in ("name", "image"):
                if not container.get(needed):
                    yield f"{place}.{needed}", "Required value"
            yield from _resources(f"{place}.resources", container.get("resources") or {})


def _resources(field: str, resources: Json) -> Iterator[Fault]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for resource in {**requests, **limits}:
        if not qualified(resource):
            yield (
                f"{field}.requests[{resource}]",
                f'Invalid value: "{resource}": must be a standard resource type or fully qualified',
            )
        elif "/" not in resource and resource not in _STANDARD and not resource.startswith("hugepages-"):
            yield (
                f"{field}.requests[{resource}]",
                f'Invalid value: "{resource}": must be a standard resource for containers',
            )
    faults = [*_amounts(f"{field}.limits", limits), *_amounts(f"{field}.requests", requests)]
    yield from faults
    if faults:
        return
    for resource, text in requests.items():
        limit = limits.get(resource)
        if is_extended(resource) and limit is None:
            yield f"{field}.limits", "Required value: Limit must be set for non overcommitable resources"
        elif is_extended(resource) and parse(text).amount != parse(limit).amount:
            yield f"{field}.requests", f'Invalid value: "{text}": must be equal to {resource} limit of {limit}'
        elif limit is not None and parse(text).amount > parse(limit).amount:
            yield (
                f"{field}.requests",
                f'Invalid value: "{text}": must be less than or equal to {resource} limit of {limit}',
            )


def _pod_change(obj: Json, old: Json) -> Iterator[Fault]:
    """Of a pod's spec only images and a few scalars may change; `nodeName` is set by binding alone."""
    if _frozen_part(obj) != _frozen_part(old):
        yield (
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.tolerations`",
        )


def _frozen_part(pod: Json) -> Json:
    spec = {key: value for key, value in (pod.get("spec") or {}).items() if key not in _POD_MAY_CHANGE}
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [{key: value for key, value in each.items() if key != "image"} for each in spec[group]]
    return spec
