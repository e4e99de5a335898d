"""What does an object look like after a patch? JSON, merge and strategic merge patch, with the real server's errors."""

import copy
from typing import Any

import jsonpatch
import jsonpointer

from reconciler.sandbox.encoding import DecodeError, Json, decode
from reconciler.sandbox.kinds import Kind
from reconciler.sandbox.refusal import Refusal, bad_request, not_applicable

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"

_MOST_OPERATIONS = 10_000

_MERGE_KEYS = {
    "conditions": "type",
    "addresses": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "hostAliases": "ip",
}
"""Lists that core/v1 merges by a key (patchMergeKey). All others are atomic: taints, tolerations, containerStatuses."""

_MERGED_SETS = frozenset({"finalizers"})
"""Lists of plain values with patchStrategy=merge."""


def patched(kind: Kind, obj: Json, content_type: str, body: bytes) -> Json:
    """The object after the patch; `obj` may be changed on the way. Raises Refusal: 400, 413, 415 or 422."""
    media = content_type.partition(";")[0].strip()
    try:
        change = decode(body)
    except DecodeError as broken:
        raise bad_request(f"error decoding patch: {broken}") from broken
    if media == JSON_PATCH:
        return _json_patch(obj, change)
    if media == MERGE_PATCH or (media == STRATEGIC_MERGE and not kind.custom):
        if not isinstance(change, dict):
            raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
        return merge(obj, change) if media == MERGE_PATCH else strategic(obj, change)
    raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def _json_patch(obj: Json, operations: Any) -> Json:
    if not isinstance(operations, list):
        text = "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        raise bad_request(text)
    if len(operations) > _MOST_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(operations)}"
        raise Refusal(413, "RequestEntityTooLarge", text)
    result: Any = obj
    try:
        for operation in operations:
            result = jsonpatch.JsonPatch([_as_the_server_does(operation, result)]).apply(result, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError, AttributeError) as bad:
        raise not_applicable() from bad  # the last three are the library's answers to operations of a wrong shape
    if not isinstance(result, dict):
        raise not_applicable()
    return result


def _as_the_server_does(operation: Any, obj: Any) -> Any:
    """Its library (json-patch v4) lets `replace` add a member of a map that is not there."""
    if operation["op"] != "replace" or not operation["path"]:
        return operation
    parent, _ = jsonpointer.JsonPointer(operation["path"]).to_last(obj)
    return {**operation, "op": "add"} if isinstance(parent, dict) else operation


def merge(target: Json, change: Json) -> Json:
    """RFC 7386: maps are merged, null deletes, everything else replaces."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            present = target.get(key)
            target[key] = merge(present if isinstance(present, dict) else {}, value)
        else:
            target[key] = copy.deepcopy(value)
    return target


def strategic(target: Json, change: Json) -> Json:
    """Like a merge patch, but lists with a merge key are merged by it, and `$patch` directives are obeyed."""
    directive = change.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in change.items() if key != "$patch"}
    for key, value in change.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            target[name] = [each for each in target.get(name) or [] if each not in value]
        elif key.startswith(("$setElementOrder/", "$retainKeys")):
            continue  # order is for people; nothing here depends on it
        elif value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            present = target.get(key)
            target[key] = strategic(present if isinstance(present, dict) else {}, value)
        elif isinstance(value, list):
            target[key] = _merged_list(key, target.get(key) or [], value)
        else:
            target[key] = value
    return target


def _merged_list(name: str, present: list[Any], change: list[Any]) -> list[Any]:
    if name in _MERGED_SETS:
        return [*present, *(each for each in change if each not in present)]
    merge_key = _MERGE_KEYS.get(name)
    if merge_key is None or not all(isinstance(each, dict) for each in [*present, *change]):
        return copy.deepcopy(change)
    if any(each.get("$patch") == "replace" and len(each) == 1 for each in change):
        return [copy.deepcopy(each) for each in change if "$patch" not in each]
    merged = {each.get(merge_key): each for each in present}
    for each in change:
        if merge_key not in each:
            raise Refusal(422, "Invalid", f"map: does not contain declared merge key: {merge_key}")
        key = each[merge_key]
        if each.get("$patch") == "delete":
            merged.pop(key, None)
        else:
            merged[key] = strategic(merged.get(key, {}), each)
    return _in_order(merged, [each.get(merge_key) for each in present], [each[merge_key] for each in change])


def _in_order(merged: dict[Any, Any], present: list[Any], changed: list[Any]) -> list[Any]:
    """mergeSortedSlice: what was there is put among what was sent, by its old order, and new elements come first."""
    sent = [key for key in dict.fromkeys(changed) if key in merged]
    kept = [key for key in present if key in merged and key not in sent]
    place = {key: index for index, key in enumerate(present)}
    ordered = []
    while sent and kept:
        before = sent[0] in place and place[kept[0]] < place[sent[0]]
        ordered.append(merged[(kept if before else sent).pop(0)])
    return ordered + [merged[key] for key in [*sent, *kept]]
