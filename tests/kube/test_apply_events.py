"""kube/apply: events are told once, and what cannot be told holds up nothing else."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import pytest

from reconciler.model import names
from reconciler.model.node import NodeKey, NodeName
from reconciler.model.plan import Action, Advertise, Announce, Done, RunProbe
from reconciler.model.reasons import Reason
from reconciler.runtime.errors import Forbidden, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Response
from reconciler.sandbox.faults import Answer, Late, Unreachable
from reconciler.sandbox.mishaps import CONFLICT, ERROR_500_HTML, FORBIDDEN, THROTTLED
from tests.kube.acting import MEMORY, MIB, STATUS, Acting, condition
from tests.kube.world import virtual


@virtual
async def test_the_same_words_within_the_hour_are_one_event() -> None:
    acting = Acting()
    action = Announce(acting.node(), Reason.MISMATCH, "EC2 and NVML disagree", warning=True)
    for _ in range(3):
        assert await acting.actuator.apply([action]) == [Done()]
        await anyio.sleep(60)
    await acting.actuator.apply([replace(action, message="other words")])
    await anyio.sleep(3600)
    await acting.actuator.apply([action])
    events = acting.world.do("GET", "/api/v1/namespaces/default/events")["items"]

    assert len(events) == 3
    assert {event["involvedObject"]["uid"] for event in events} == {action.node.uid}
    assert events[0]["type"] == "Warning"
    assert {event["reason"] for event in events} == {"Mismatch"}


@virtual
async def test_a_long_node_name_and_a_long_text_make_an_event_all_the_same() -> None:
    """Names end at 253 characters, texts at 1,024 bytes."""
    acting = Acting()
    key = NodeKey(NodeName("a" * 199 + "." + "b" * 53), "u")

    assert await acting.actuator.apply([Announce(key, Reason.MISMATCH, "ü" * 2000)]) == [Done()]
    event = acting.world.do("GET", "/api/v1/namespaces/default/events")["items"][0]

    assert len(event["metadata"]["name"]) <= 253
    assert ".." not in event["metadata"]["name"]
    assert len(event["message"].encode()) <= 1024


DESCRIBED = b'{"kind":"Status","code":422,"message":"message: Invalid"}'
MISSING = b'{"kind":"Status","code":404,"message":"namespaces \\"default\\" not found"}'


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (THROTTLED, Unavailable),
        (ERROR_500_HTML, Unavailable),
        (Unreachable(), Unavailable),
        (Late(3600), Unavailable),
        (CONFLICT, Stale),
    ],
    ids=["throttled", "500", "no route", "silence", "a quota that others change"],
)
@virtual
async def test_an_event_that_cannot_be_told_now_stays_due_and_holds_up_nothing_else(
    fault: Any, error: type[Exception]
) -> None:
    """The value and the probe come all the same, seconds later at most; the condition does not say that it was told."""
    acting = Acting()
    key = acting.node(status=STATUS)
    rule = acting.world.faults.add(fault, path="/events")
    plan: list[Action] = [
        Announce(key, Reason.VERIFIED, "well"),
        Advertise(key, {MEMORY: MIB}, condition=condition(acting.world.clock.now())),
        RunProbe(key, "b1", None),
    ]
    before = acting.world.clock.now()

    with pytest.raises(error, match="events"):
        await acting.actuator.apply(plan)
    assert acting.world.clock.now() - before <= timedelta(seconds=2)
    node = acting.read()
    assert node["status"]["allocatable"][MEMORY] == "1Mi"
    assert node["status"]["conditions"] == STATUS["conditions"]
    assert len(acting.world.do("GET", "/apis/batch/v1/namespaces/gpu/jobs")["items"]) == 1

    acting.world.faults.remove(rule)
    assert await acting.actuator.apply(plan) == [Done()] * 3
    assert names.CONDITION in [one["type"] for one in acting.read()["status"]["conditions"]]


@virtual
async def test_a_condition_alone_is_not_written_while_its_event_cannot_be_told() -> None:
    acting = Acting()
    key = acting.node(status=STATUS)
    acting.world.faults.add(THROTTLED, path="/events", times=1)
    plan: list[Action] = [
        Announce(key, Reason.VERIFIED, "a"),
        Announce(key, Reason.VERIFIED, "b"),
        Advertise(key, condition=condition(acting.world.clock.now())),
    ]

    with pytest.raises(Unavailable):
        await acting.actuator.apply(plan)
    assert [call.split()[0] for call in acting.world.calls()] == ["POST", "POST"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [(FORBIDDEN, Forbidden), (Answer(Response(422, DESCRIBED)), Rejected), (Answer(Response(404, MISSING)), Rejected)],
    ids=["no right", "refused", "no namespace"],
)
@virtual
async def test_an_event_that_will_never_be_told_is_waited_for_by_nothing(fault: Any, error: type[Exception]) -> None:
    """It is raised, so that the log tells of it, and the next turn has nothing left to do."""
    acting = Acting()
    key = acting.node(status=STATUS)
    acting.world.faults.add(fault, path="/events")
    said = condition(acting.world.clock.now())

    with pytest.raises(error, match="events"):
        await acting.actuator.apply(
            [Announce(key, Reason.VERIFIED, "well"), Advertise(key, {MEMORY: MIB}, {}, {}, said)]
        )
    assert names.CONDITION in [one["type"] for one in acting.read()["status"]["conditions"]]
