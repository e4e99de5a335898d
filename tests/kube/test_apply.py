"""kube/apply: each action is one call, changes just what it names, and is safe to repeat."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.kube import write
from reconciler.kube.apply import Rehearsal
from reconciler.kube.fence import NotLeader
from reconciler.model import names
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import InstanceType, NodeKey, NodeName, Taint
from reconciler.model.plan import Action, Advertise, Announce, ClearTaint, Done, Learn, Lost, RunProbe
from reconciler.model.reasons import Reason
from reconciler.runtime.errors import Forbidden, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import decode
from reconciler.sandbox.faults import Answer, Late, Unreachable
from reconciler.sandbox.mishaps import CONFLICT, ERROR_500_HTML, FORBIDDEN, THROTTLED
from tests.kube.acting import MEMORY, MIB, STATUS, Acting, condition
from tests.kube.world import virtual


@virtual
async def test_advertise_is_one_patch_that_leaves_all_else_as_it_is() -> None:
    """Resources in both lists, labels, annotation and condition at once; what is foreign stays (invariant I6)."""
    acting = Acting()
    key = acting.node(labels={"foreign": "label"}, status=STATUS)
    before = acting.read()
    since = datetime(2026, 3, 1, 11, tzinfo=UTC)
    action = Advertise(
        key,
        resources={MEMORY: 15079 * MIB},
        labels={names.LABEL_MODEL: "Tesla-T4"},
        annotations={names.RECORD: '{"v":1}'},
        condition=condition(since),
    )

    [done] = await acting.actuator.apply([action])
    after = acting.read()

    assert isinstance(done, Done)
    assert done.version == after["metadata"]["resourceVersion"], "by which we know its echo"
    assert acting.world.calls() == ["PATCH /api/v1/nodes/n1/status 200"]
    assert after["status"]["capacity"] == {**STATUS_CAPACITY, MEMORY: "15079Mi"}
    assert after["status"]["allocatable"] == {"cpu": "3920m", "foreign.io/x": "7", MEMORY: "15079Mi"}
    assert after["metadata"]["labels"] == {"foreign": "label", names.LABEL_MODEL: "Tesla-T4"}
    assert after["metadata"]["annotations"] == {names.RECORD: '{"v":1}'}
    # A strategic merge keeps the others by their type, and may put the new one first.
    assert {one["type"]: one for one in after["status"]["conditions"]} == {
        "Ready": before["status"]["conditions"][0],
        names.CONDITION: {
            "type": names.CONDITION,
            "status": "True",
            "reason": "Verified",
            "message": "15079 MiB",
            "lastTransitionTime": "2026-03-01T11:00:00Z",
            "lastHeartbeatTime": "2026-03-01T12:00:00Z",
        },
    }
    assert after["spec"] == before["spec"]


STATUS_CAPACITY = {"cpu": "4", "foreign.io/x": "7"}


@virtual
async def test_withdrawing_removes_the_keys_and_never_sets_zero() -> None:
    """A resource at 0 makes the kubelet refuse pods; an absent one does not (kubelet/lifecycle/predicate.go)."""
    acting = Acting()
    key = acting.node(status=STATUS)
    await acting.actuator.apply(
        [
            Advertise(
                key, {MEMORY: 100}, {names.LABEL_MODEL: "x"}, {names.RECORD: "y"}, condition(acting.world.clock.now())
            )
        ]
    )

    removal = Advertise(key, {MEMORY: None}, {names.LABEL_MODEL: None}, {names.RECORD: None})
    assert await acting.actuator.apply([removal]) == [Done()]
    after = acting.read()

    assert after["status"]["capacity"] == STATUS_CAPACITY
    assert MEMORY not in after["status"]["allocatable"]
    assert not after["metadata"].get("labels")
    assert not after["metadata"].get("annotations")


@pytest.mark.parametrize(
    ("amount", "text"),
    [(15079 * MIB, "15079Mi"), (MIB, "1Mi"), (104857, "104857"), (0, "0"), (15 * 1024 * MIB, "15360Mi")],
)
@virtual
async def test_amounts_are_written_as_people_write_them(amount: int, text: str) -> None:
    """The API server may rewrite them; we compare numbers."""
    acting = Acting()
    key = acting.node(status=STATUS)
    await acting.actuator.apply([Advertise(key, {MEMORY: amount})])
    body = decode(acting.world.record.writes("ours")[0].body)

    assert body["status"]["capacity"] == body["status"]["allocatable"] == {MEMORY: text}


@virtual
async def test_a_namesake_is_left_alone() -> None:
    """Names are reused addresses: the UID in the patch refuses another node."""
    acting = Acting()
    key = replace(acting.node(status=STATUS), uid="00000000-0000-4000-8000-000000000000")
    before = acting.read()

    outcomes = await acting.actuator.apply([Advertise(key, {MEMORY: MIB}), RunProbe(key, "b1", None)])

    assert [type(outcome) for outcome in outcomes] == [Lost], "what comes after a loss is not tried"
    assert acting.read() == before
    assert len(acting.world.calls()) == 1


@virtual
async def test_a_node_that_is_gone_is_lost() -> None:
    acting = Acting()
    key = NodeKey(NodeName("n1"), "u")

    outcomes = await acting.actuator.apply([Advertise(key, {MEMORY: MIB})])

    assert [type(outcome) for outcome in outcomes] == [Lost]


TAINTS = [
    {"key": names.STARTUP_TAINT, "effect": "NoSchedule"},
    {"key": "foreign", "value": "v", "effect": "NoExecute", "timeAdded": "2026-03-01T10:00:00Z"},
    {"key": "bare", "effect": "NoSchedule"},
]


def clearing(acting: Acting, key: NodeKey) -> ClearTaint:
    version = acting.read()["metadata"]["resourceVersion"]
    keep = (
        Taint("foreign", "NoExecute", "v", "2026-03-01T10:00:00Z"),
        Taint("bare", "NoSchedule"),
    )
    return ClearTaint(key, names.STARTUP_TAINT, keep, version)


@virtual
async def test_a_taint_is_cleared_and_the_others_keep_all_their_fields() -> None:
    acting = Acting()
    key = acting.node(spec={"taints": TAINTS, "providerID": "aws:///x"})

    assert await acting.actuator.apply([clearing(acting, key)]) == [Done()]

    assert acting.read()["spec"]["taints"] == TAINTS[1:]
    assert acting.read()["spec"]["providerID"] == "aws:///x"


@virtual
async def test_the_last_taint_leaves_no_list_behind() -> None:
    acting = Acting()
    key = acting.node(spec={"taints": TAINTS[:1]})
    action = replace(clearing(acting, key), keep=())

    assert await acting.actuator.apply([action]) == [Done()]
    assert not acting.read()["spec"].get("taints")


@virtual
async def test_a_taint_list_that_changed_meanwhile_is_not_overwritten() -> None:
    """A list is written whole, so a stale one would bring back or lose what others wrote."""
    acting = Acting()
    key = acting.node(spec={"taints": TAINTS})
    action = clearing(acting, key)
    acting.world.merge("/api/v1/nodes/n1", {"spec": {"taints": [*TAINTS, {"key": "new", "effect": "NoSchedule"}]}})

    with pytest.raises(Stale):
        await acting.actuator.apply([action])
    assert len(acting.read()["spec"]["taints"]) == 4


@virtual
async def test_a_probe_is_ordered_once_however_often_it_is_asked_for() -> None:
    acting = Acting()
    order = RunProbe(acting.node(), "b1", InstanceType("g4dn.xlarge"))

    assert await acting.actuator.apply([order]) == [Done()]
    assert await acting.actuator.apply([order]) == [Done()]
    jobs = acting.world.do("GET", "/apis/batch/v1/namespaces/gpu/jobs")["items"]

    assert len(jobs) == 1
    assert jobs[0]["metadata"]["annotations"][names.ANNOTATION_BOOT_ID] == "b1"

    assert await acting.actuator.apply([replace(order, serial=1), replace(order, boot_id="b2")]) == [Done(), Done()]
    assert len(acting.world.do("GET", "/apis/batch/v1/namespaces/gpu/jobs")["items"]) == 3


@virtual
async def test_a_conflict_that_is_none_of_names_orders_no_probe() -> None:
    """A quota that somebody changes at the same moment: the Job is not there."""
    acting = Acting()
    acting.world.faults.add(CONFLICT, path="/jobs$")

    with pytest.raises(Stale):
        await acting.actuator.apply([RunProbe(acting.node(), "b1", None)])


@virtual
async def test_a_missing_namespace_is_a_fault_of_the_set_up_and_not_a_lost_node() -> None:
    acting = Acting()
    missing = Response(404, b'{"kind":"Status","code":404,"message":"namespaces \\"gpu\\" not found"}')
    acting.world.faults.add(Answer(missing), path="/jobs$")

    with pytest.raises(Rejected, match="namespace is missing"):
        await acting.actuator.apply([RunProbe(acting.node(), "b1", None)])


@virtual
async def test_what_was_learned_goes_to_the_catalog() -> None:
    acting = Acting()
    figure = LearnedFigure(InstanceType("g5.xlarge"), "A10G", 1, 23028, 400, "580", acting.world.clock.now())

    assert await acting.actuator.apply([Learn(figure)]) == [Done()]
    assert acting.notebook.learned == [figure]


FAULTS = [
    (FORBIDDEN, Forbidden, "PATCH /api/v1/nodes/n1/status: 403"),
    (THROTTLED, Unavailable, "429 Too many requests"),
    (ERROR_500_HTML, Unavailable, "500 <html>"),
    (Unreachable(), Unavailable, "cannot connect"),
    (Late(3600), Unavailable, "silent for 10 s"),
    (Answer(Response(422, b'{"code":422,"message":"capacity: Invalid"}')), Rejected, "422 capacity: Invalid"),
]


@pytest.mark.parametrize(("fault", "error", "says"), FAULTS)
@virtual
async def test_a_surprise_is_an_exception_with_the_verb_and_the_object(
    fault: Any, error: type[Exception], says: str
) -> None:
    acting = Acting()
    key = acting.node(status=STATUS)
    acting.world.faults.add(fault)

    with pytest.raises(error, match=says):
        await acting.actuator.apply([Advertise(key, {MEMORY: MIB})])


@virtual
async def test_a_throttled_write_tells_when_to_come_again() -> None:
    acting = Acting()
    key = acting.node(status=STATUS)
    acting.world.faults.add(Answer(Response(429, b"{}", 7.0)))

    with pytest.raises(Unavailable) as caught:
        await acting.actuator.apply([Advertise(key, {MEMORY: MIB})])
    assert caught.value.after == 7.0


ACTIONS: list[Action] = [
    Advertise(NodeKey(NodeName("n1"), "u"), {MEMORY: MIB}),
    ClearTaint(NodeKey(NodeName("n1"), "u"), "k", (), "1"),
    RunProbe(NodeKey(NodeName("n1"), "u"), "b", None),
    Announce(NodeKey(NodeName("n1"), "u"), Reason.MISMATCH, "m"),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
@virtual
async def test_nothing_is_written_once_the_lease_has_passed(action: Action) -> None:
    """Invariant I4."""
    acting = Acting(left=0)

    with pytest.raises(NotLeader):
        await acting.actuator.apply([action])
    assert acting.world.calls() == []


@virtual
async def test_a_write_lasts_no_longer_than_the_lease() -> None:
    acting = Acting(left=2.5)
    key = acting.node(status=STATUS)
    acting.world.faults.add(Late(3600))
    before = acting.world.clock.now()

    with pytest.raises(Unavailable):
        await acting.actuator.apply([Advertise(key, {MEMORY: MIB})])
    assert acting.world.clock.now() - before == timedelta(seconds=2.5)


@virtual
async def test_a_rehearsal_does_nothing_and_remembers_all() -> None:
    rehearsal = Rehearsal()

    assert await rehearsal.apply(ACTIONS) == [Done()] * len(ACTIONS)
    assert rehearsal.actions == ACTIONS


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"kind":"PartialObjectMetadata","metadata":{"name":"n","resourceVersion":"77","uid":"u"}}', "77"),
        (b'{"metadata": {"annotations": {"a": "{\\"resourceVersion\\":\\"1\\"}"}, "resourceVersion": "78"}}', "78"),
        (b'{"kind":"Status"}', ""),
        (b"\xff", ""),
    ],
)
def test_the_version_is_read_off_an_answer_whatever_else_it_holds(body: bytes, version: str) -> None:
    assert write.version(body) == version
