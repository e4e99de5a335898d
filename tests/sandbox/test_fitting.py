"""sandbox/fitting: requests, tolerations, affinity, and the order of filters."""

from fractions import Fraction

import pytest

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.fitting import Room, affine, explanation, refused, requests, score, tolerates


def container(**requested: str) -> Json:
    return {"name": "c", "resources": {"requests": requested}}


def pod(*containers: Json, **spec: object) -> Json:
    return {"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": list(containers) or [container()], **spec}}


def sidecar(**requested: str) -> Json:
    return {**container(**requested), "restartPolicy": "Always"}


def room(labels: dict[str, str] | None = None, **allocatable: str) -> Room:
    status = {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "10", **allocatable}}
    return Room({"metadata": {"name": "n", "labels": labels or {}}, "spec": {}, "status": status})


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        (pod(container(cpu="1"), container(cpu="500m", gpu="2")), {"cpu": Fraction(3, 2), "gpu": Fraction(2)}),
        (pod(container(cpu="1"), initContainers=[container(cpu="3")]), {"cpu": Fraction(3)}),
        (pod(container(cpu="3"), initContainers=[container(cpu="1")]), {"cpu": Fraction(3)}),
        (
            pod(container(cpu="1"), initContainers=[sidecar(cpu="1")]),
            {"cpu": Fraction(2)},
        ),
        (
            pod(
                container(cpu="1"),
                initContainers=[sidecar(cpu="1"), container(cpu="4")],
            ),
            {"cpu": Fraction(5)},
        ),
        (pod(container(cpu="1"), overhead={"cpu": "250m"}), {"cpu": Fraction(5, 4)}),
        (pod(), {}),
    ],
)
def test_what_a_pod_takes(asked: Json, total: dict[str, Fraction]) -> None:
    assert requests(asked) == total


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "met"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration: Json, met: bool) -> None:
    assert tolerates([toleration], TAINT) is met
    assert tolerates([{"key": "nothing"}, toleration], TAINT) is met


def required(*terms: Json) -> Json:
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": node}}


def expression(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({}, True),
        ({"nodeSelector": {"type": "g4dn"}}, True),
        ({"nodeSelector": {"type": "g5"}}, False),
        (required(expression("type", "In", "g4dn", "g5")), True),
        (required(expression("type", "NotIn", "g4dn")), False),
        (required(expression("absent", "NotIn", "x")), True),
        (required(expression("type", "Exists")), True),
        (required(expression("absent", "DoesNotExist")), True),
        (required(expression("cpus", "Gt", "3")), True),
        (required(expression("cpus", "Lt", "3")), False),
        (required(expression("type", "Gt", "3")), False),
        (required(expression("type", "Like", "g*")), False),
        (required(expression("type", "In", "g5"), expression("cpus", "In", "4")), True),
        (required({}), False),
        (required(), False),
        (required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}), True),
        (required({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}), False),
    ],
)
def test_affinity(spec: Json, fits: bool) -> None:
    assert affine(spec, room({"type": "g4dn", "cpus": "4"}).node) is fits


def test_the_first_filter_that_refuses_is_told_and_the_last_tells_all_its_reasons() -> None:
    small = room(cpu="1", pods="0")
    big = pod(container(cpu="2", gpu="1"), nodeSelector={"a": "b"})
    small.node["spec"] = {"unschedulable": True, "taints": [TAINT]}
    told = []
    for step in (lambda: small.node["spec"].pop("unschedulable"), small.node["spec"].clear, big["spec"].clear, None):
        answer = refused(big, small) if big["spec"] else None
        told.append(answer.reasons if answer else ())
        if step is not None:
            step()
    assert told[:3] == [
        ("node(s) were unschedulable",),
        ("node(s) had untolerated taint(s)",),
        ("node(s) didn't match Pod's node affinity/selector",),
    ]
    answer = refused(pod(container(cpu="2", gpu="1")), small)
    assert answer is not None
    assert answer.reasons == ("Too many pods", "Insufficient cpu", "Insufficient gpu")


def test_what_is_taken_counts() -> None:
    half = room(gpu="2")
    half.add(pod(container(gpu="1")))
    assert refused(pod(container(gpu="1")), half) is None
    answer = refused(pod(container(gpu="2")), half)
    assert answer is not None
    assert not answer.helpless, "an empty node would do"


def test_the_emptier_node_and_the_one_without_a_sibling_score_higher() -> None:
    empty, full = room(), room()
    full.add(pod(container(cpu="3")) | {"metadata": {"name": "q", "uid": "q"}})
    assert score(pod(), empty) > score(pod(), full)
    sibling = room()
    sibling.add(pod())
    assert score(pod(), full) > score(pod(), sibling)


def test_no_nodes_is_a_message_of_its_own() -> None:
    assert explanation([]) == "no nodes available to schedule pods"
