"""kube/managed_fields: whoever last wrote the label is named, and nobody where nobody can be told."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Raw

from reconciler.kube.managed_fields import last_change, writer_of_profile
from reconciler.kube.wire import ABSENT
from reconciler.model import names

LABEL: dict[str, Any] = {f"f:{names.PLUGIN_CONFIG}": {}}
OURS = {"f:metadata": {"f:labels": {".": {}, **LABEL, "f:x": {}}}}
ELSEWHERE = {"f:metadata": {"f:annotations": LABEL}, "f:spec": LABEL}


def entry(manager: Any, time: Any, fields: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def raw(entries: Any) -> Raw:
    return Raw(json.dumps(entries, separators=(",", ":")).encode())


KARPENTER = entry("karpenter", "2026-03-01T10:00:00Z", OURS)
KUBELET = entry("kubelet", "2026-03-01T12:00:00Z", {"f:status": {}}, subresource="status")

WRITERS = {
    "the only one": ([KARPENTER, KUBELET], "karpenter"),
    "the newest of two": ([entry("kubectl-label", "2026-03-01T11:00:00Z", OURS), KARPENTER], "kubectl-label"),
    "in whatever order": ([KARPENTER, entry("kubectl-label", "2026-03-01T11:00:00Z", OURS)], "kubectl-label"),
    "through the status": (
        [entry("gpu-reconciler", "2026-03-01T11:00:00Z", OURS, subresource="status")],
        "gpu-reconciler",
    ),
    "with a time rather than without": ([entry("old", None, OURS), KARPENTER], "karpenter"),
    "not an annotation of that name": ([entry("x", "2026-03-01T11:00:00Z", ELSEWHERE), KARPENTER], "karpenter"),
    "nobody": ([KUBELET], ""),
    "nobody by that name": ([entry("x", "t", ELSEWHERE)], ""),
    "no name": ([entry(None, "2026-03-01T11:00:00Z", OURS)], ""),
    "a name without end": ([entry("x" * 5000, "2026-03-01T11:00:00Z", OURS)], "x" * 128),
    "a list of nothing": ([], ""),
    "null": (None, ""),
    "odd entries": ({"a": LABEL}, ""),
    "odd fields": ([entry("x", "t", [LABEL])], ""),
    "odd fields beside good ones": ([entry("x", "t", {"f:metadata": [LABEL]}), KARPENTER], ""),
}


@pytest.mark.parametrize(("entries", "writer"), WRITERS.values(), ids=WRITERS)
def test_the_labels_last_writer_is_named(entries: Any, writer: str) -> None:
    assert writer_of_profile(raw(entries)) == writer


def test_an_object_without_managed_fields_has_no_writer_and_no_change() -> None:
    assert writer_of_profile(ABSENT) == ""
    assert last_change(ABSENT) is None


def test_brackets_a_thousand_deep_are_nobodys() -> None:
    deep = b"[" * 2000 + b"]" * 2000
    label = f'"f:{names.PLUGIN_CONFIG}"'.encode()

    assert (
        writer_of_profile(Raw(b'[{"fieldsV1":{"f:x":' + deep + b',"f:metadata":{"f:labels":{' + label + b":{}}}}}]"))
        == ""
    )
    assert last_change(Raw(deep)) is None


@pytest.mark.parametrize(
    ("entries", "at"),
    [
        ([KUBELET, KARPENTER], datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ([entry("x", "soon"), KARPENTER], datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ([entry("x", "2026-03-01T10:00:00")], datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ([entry("x", "soon"), entry("x", None)], None),
        ([], None),
    ],
)
def test_the_last_change_is_the_newest_readable_time(entries: Any, at: datetime | None) -> None:
    assert last_change(raw(entries)) == at
