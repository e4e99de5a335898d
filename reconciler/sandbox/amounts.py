"""Where do objects hold quantities, and does the server accept them there? Made canonical in place, then checked."""

from collections.abc import Iterator

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import JOBS, NODES, PODS, Kind
from reconciler.sandbox.naming import qualified
from reconciler.sandbox.quantity import parse

Fault = tuple[str, str]
"""(field, what is wrong)."""

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})


def is_extended(resource: str) -> bool:
    """Extended resources have a domain that is not kubernetes.io (core/helper IsExtendedResourceName)."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def canonicalise(kind: Kind, obj: Json) -> None:
    """Rewrite every quantity as the server stores it. Raises ValueError for a text that is none."""
    for amounts in _lists(kind, obj):
        for resource, text in amounts.items():
            amounts[resource] = parse(text).canonical()


def _lists(kind: Kind, obj: Json) -> Iterator[Json]:
    if kind == NODES:
        status = obj.get("status") or {}
        yield from (status[part] for part in ("capacity", "allocatable") if status.get(part))
    elif kind in (PODS, JOBS):
        spec = obj.get("spec") or {}
        for container in containers(spec["template"].get("spec") or {} if kind == JOBS else spec):
            resources = container.get("resources") or {}
            yield from (resources[part] for part in ("limits", "requests") if resources.get(part))


def containers(pod_spec: Json) -> list[Json]:
    """All containers of a pod, init containers last."""
    return [*(pod_spec.get("containers") or []), *(pod_spec.get("initContainers") or [])]


def node_faults(node: Json) -> Iterator[Fault]:
    """What is wrong with capacity and allocatable. Their names are free: the server accepts even `a b`."""
    status = node.get("status") or {}
    for part in ("capacity", "allocatable"):
        for resource, text in (status.get(part) or {}).items():
            yield from _value(f"status.{part}.{resource}", resource, text)


def _value(field: str, resource: str, text: str) -> Iterator[Fault]:
    amount = parse(text)
    if amount.amount < 0:
        yield field, f'Invalid value: "{text}": must be greater than or equal to 0'
    elif is_extended(resource) and not amount.whole:
        yield field, f'Invalid value: "{text}": must be an integer'


def resources_faults(field: str, resources: Json) -> Iterator[Fault]:
    """What is wrong with a container's limits and requests (validateContainerResourceRequirements)."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    faults = [
        fault
        for part, amounts in (("limits", limits), ("requests", requests))
        for resource, text in amounts.items()
        for fault in [
            *_name(f"{field}.{part}[{resource}]", resource),
            *_value(f"{field}.{part}[{resource}]", resource, text),
        ]
    ]
    yield from faults
    if faults:
        return
    for resource, text in requests.items():
        limit = limits.get(resource)
        if is_extended(resource) and limit is None:
            yield f"{field}.limits", "Required value: Limit must be set for non overcommitable resources"
        elif is_extended(resource) and text != limit:
            yield f"{field}.requests", f'Invalid value: "{text}": must be equal to {resource} limit of {limit}'
        elif limit is not None and parse(text).amount > parse(limit).amount:
            why = f"must be less than or equal to {resource} limit of {limit}"
            yield f"{field}.requests", f'Invalid value: "{text}": {why}'


def _name(field: str, resource: str) -> Iterator[Fault]:
    if "/" not in resource and not (resource in _STANDARD or resource.startswith("hugepages-")):
        yield field, f'Invalid value: "{resource}": must be a standard resource type or fully qualified'
        yield field, f'Invalid value: "{resource}": must be a standard resource for containers'
    elif not qualified(resource):
        yield field, f'Invalid value: "{resource}": a qualified name must consist of alphanumeric characters'
