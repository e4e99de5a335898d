"""sandbox/patch: strategic merges beyond what the contract asks of nodes."""

import copy

import pytest

from reconciler.sandbox.encoding import Json, encode
from reconciler.sandbox.kinds import NODECLAIMS, PODS
from reconciler.sandbox.patch import JSON_PATCH, STRATEGIC_MERGE, merge, patched, strategic
from reconciler.sandbox.refusal import Refusal


@pytest.mark.parametrize(
    ("present", "change", "result"),
    [
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "delete"}}, {"a": {}}),
        ({"a": 1}, {"a": None, "b": None}, {}),
        ({"finalizers": ["x"]}, {"finalizers": ["y", "x"]}, {"finalizers": ["x", "y"]}),
        ({"finalizers": ["x", "y"]}, {"$deleteFromPrimitiveList/finalizers": ["x"]}, {"finalizers": ["y"]}),
        ({"taints": [{"key": "x"}]}, {"taints": [{"key": "y"}]}, {"taints": [{"key": "y"}]}),
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
            {
                "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
                "containers": [{"name": "b", "image": "2"}],
            },
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
        ),
        (
            {"ownerReferences": [{"uid": "1", "name": "x"}]},
            {"ownerReferences": [{"$patch": "delete", "uid": "1"}]},
            {"ownerReferences": []},
        ),
        (
            {"conditions": [{"type": "a"}, {"type": "b"}]},
            {"conditions": [{"$patch": "replace"}, {"type": "c"}]},
            {"conditions": [{"type": "c"}]},
        ),
    ],
)
def test_strategic_merges(present: Json, change: Json, result: Json) -> None:
    kept = copy.deepcopy(change)
    assert strategic(present, change) == result
    assert change == kept, "the patch itself is not touched"


def test_a_merge_patch_makes_the_maps_it_needs_and_leaves_no_nulls() -> None:
    """RFC 7386."""
    assert merge({"a": "text"}, {"a": {"b": {"c": None, "d": 1}}}) == {"a": {"b": {"d": 1}}}


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        (JSON_PATCH, b"not json", 400),
        (JSON_PATCH, encode([{"op": "replace", "path": "", "value": 1}]), 422),
        (JSON_PATCH, encode([1]), 422),
        (STRATEGIC_MERGE, encode({"conditions": [{"status": "True"}]}), 422),
        ("application/apply-patch+yaml", b"{}", 415),
    ],
)
def test_patches_that_cannot_be(content_type: str, body: bytes, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        patched(PODS, {"conditions": [{"type": "x"}]}, content_type, body)
    assert refused.value.code == code


def test_custom_resources_know_no_strategic_merge() -> None:
    with pytest.raises(Refusal) as refused:
        patched(NODECLAIMS, {}, STRATEGIC_MERGE, b"{}")
    assert refused.value.code == 415


def test_a_content_type_may_carry_parameters() -> None:
    assert patched(PODS, {"a": 1}, JSON_PATCH + "; charset=utf-8", encode([{"op": "remove", "path": "/a"}])) == {}
