"""Would the real server accept this object? The rules that matter for nodes, pods, jobs and metadata."""

from collections.abc import Iterator

from reconciler.sandbox.amounts import Fault, node_faults, resources_faults
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import JOBS, NODES, PODS, Kind
from reconciler.sandbox.naming import label_value, qualified, subdomain
from reconciler.sandbox.refusal import invalid

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POD_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")

_NAME_RULE = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
_PART_RULE = "name part must consist of alphanumeric characters, '-', '_' or '.'"
_VALUE_RULE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"


def check(kind: Kind, obj: Json, old: Json | None) -> None:
    """Raise a 422 Refusal that names every field that is wrong. `old` is None for a new object."""
    faults = list(_metadata(obj, old))
    if kind == NODES:
        faults += [*_taints(obj), *node_faults(obj)]
    elif kind == PODS:
        faults += _pod_spec(obj.get("spec") or {}, "spec")
        if old is not None:
            faults += _pod_change(obj, old)
    elif kind == JOBS:
        faults += _job(obj["spec"]["template"])
    if faults:
        raise invalid(kind, obj["metadata"].get("name", ""), faults)


def _wrong(value: object, why: str) -> str:
    return f'Invalid value: "{value}": {why}'


def _metadata(obj: Json, old: Json | None) -> Iterator[Fault]:
    meta = obj["metadata"]
    name = meta.get("name", "")
    if not name:
        yield "metadata.name", "Required value: name or generateName is required"
    elif not subdomain(name):
        yield "metadata.name", _wrong(name, _NAME_RULE)
    yield from _labels(meta, "metadata.labels")
    for key in meta.get("annotations") or {}:
        if not qualified(key.lower()):
            yield "metadata.annotations", _wrong(key, _PART_RULE)
    if old is not None:
        for field in ("uid", "name", "namespace"):
            if meta.get(field) != old["metadata"].get(field):
                yield f"metadata.{field}", _wrong(meta.get(field), "field is immutable")


def _labels(meta: Json, field: str) -> Iterator[Fault]:
    for key, value in (meta.get("labels") or {}).items():
        if not qualified(key):
            yield field, _wrong(key, _PART_RULE)
        if len(value) > 63:
            yield field, _wrong(value, "must be no more than 63 bytes")
        elif not label_value(value):
            yield field, _wrong(value, _VALUE_RULE)


def _taints(node: Json) -> Iterator[Fault]:
    seen = set()
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or []):
        field = f"metadata.taints[{index}]"  # the real server says metadata here
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        if not qualified(key):
            yield f"{field}.key", _wrong(key, _PART_RULE)
        if not label_value(value):
            yield f"{field}.value", _wrong(value, _VALUE_RULE)
        if effect not in _EFFECTS:
            known = ", ".join(f'"{each}"' for each in _EFFECTS)
            yield f"{field}.effect", f'Unsupported value: "{effect}": supported values: {known}'
        if (key, effect) in seen:
            yield field, f'Duplicate value: "{key}:{effect}": taints must be unique by key and effect pair'
        seen.add((key, effect))


def _job(template: Json) -> Iterator[Fault]:
    yield from _labels(template.get("metadata") or {}, "spec.template.labels")
    spec = template["spec"]
    yield from _pod_spec(spec, "spec.template.spec")
    policy = spec.get("restartPolicy")
    if policy in (None, "Always"):
        yield "spec.template.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'
    elif policy not in ("Never", "OnFailure"):
        known = 'supported values: "OnFailure", "Never"'
        yield "spec.template.spec.restartPolicy", f'Unsupported value: "{policy}": {known}'


def _pod_spec(spec: Json, field: str) -> Iterator[Fault]:
    if not spec.get("containers"):
        yield f"{field}.containers", "Required value"
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or []):
            place = f"{field}.{group}[{index}]"
            for needed in ("name", "image"):
                if not container.get(needed):
                    yield f"{place}.{needed}", "Required value"
            yield from resources_faults(f"{place}.resources", container.get("resources") or {})


def _pod_change(obj: Json, old: Json) -> Iterator[Fault]:
    """Of a pod's spec only images and a few scalars may change; `nodeName` is set by binding alone."""
    if _frozen_part(obj) != _frozen_part(old):
        yield (
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions)",
        )


def _frozen_part(pod: Json) -> Json:
    spec = {key: value for key, value in (pod.get("spec") or {}).items() if key not in _POD_MAY_CHANGE}
    for group in ("containers", "initContainers"):
        if group in spec:
            spec[group] = [{key: value for key, value in each.items() if key != "image"} for each in spec[group]]
    return spec
