"""kube/apply, the actions of sharing: a fence is set, a plugin's pod is restarted, and nothing else is touched."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from reconciler.kube import write
from reconciler.kube.fence import NotLeader
from reconciler.model import fence
from reconciler.model.gpu import LearnedFigure
from reconciler.model.node import NodeKey, NodeName, Taint
from reconciler.model.plan import Action, Advertise, Announce, ClearTaint, Done, Lost, RestartPlugin, SetTaint
from reconciler.model.reasons import SharingReason
from reconciler.model.workload import PodRef
from reconciler.runtime.errors import Forbidden, Rejected, Stale, Unavailable
from reconciler.runtime.transport import Response
from reconciler.sandbox.encoding import decode
from reconciler.sandbox.faults import Answer
from reconciler.sandbox.mishaps import FORBIDDEN
from tests.kube.acting import Acting
from tests.kube.world import virtual

NODE = "/api/v1/nodes/n1"
PODS = "/api/v1/namespaces/nvidia/pods"
FENCE = fence.taint(fence.SLICING, datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
OTHERS = (
    Taint("nvidia.com/gpu", "NoSchedule", "true"),
    Taint("node.kubernetes.io/unreachable", "NoExecute", None, "2026-03-01T11:00:00Z"),
)


class Nobody:
    async def learn(self, figure: LearnedFigure) -> None:
        raise AssertionError(figure)


class Sharing(Acting):
    """An actuator, a node with foreign taints, and a plugin's pod on it."""

    def __init__(self) -> None:
        super().__init__(catalog=Nobody())
        self.world.do("POST", "/api/v1/namespaces", {"metadata": {"name": "nvidia"}})
        taints = [
            {"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "true"},
            {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-03-01T11:00:00Z"},
        ]
        made = self.world.node("n1", spec={"taints": taints, "providerID": "aws:///x"}, labels={"foreign": "label"})
        made = self.world.merge(NODE, {"spec": {"taints": taints}})  # without the one that every new node gets
        self.key = NodeKey(NodeName("n1"), made["metadata"]["uid"])
        self.version = made["metadata"]["resourceVersion"]
        self.pod = self.start_plugin()

    def start_plugin(self) -> PodRef:
        spec = {"nodeName": "n1", "containers": [{"name": "nvidia-device-plugin-ctr", "image": "x"}]}
        made = self.world.do("POST", PODS, {"metadata": {"name": "plugin"}, "spec": spec})
        return PodRef("nvidia", "plugin", made["metadata"]["uid"])

    def set_fence(self) -> SetTaint:
        return SetTaint(self.key, FENCE, OTHERS, self.version)

    def restart(self) -> RestartPlugin:
        return RestartPlugin(self.key, self.pod)

    def there(self) -> dict[str, Any]:
        return self.world.do("GET", NODE)

    def pods(self) -> list[str]:
        """The UIDs of those that nobody has asked to end."""
        found = [pod["metadata"] for pod in self.world.do("GET", PODS)["items"]]
        return [pod["uid"] for pod in found if "deletionTimestamp" not in pod]

    def pod_ends(self) -> None:
        self.world.do("DELETE", f"{PODS}/plugin", {"gracePeriodSeconds": 0})


def test_a_taint_is_one_merge_patch_with_the_whole_list_and_the_version_that_it_was_read_from() -> None:
    key = NodeKey(NodeName("n1"), "u-1")
    request = write.set_taint(SetTaint(key, FENCE, OTHERS, "4711"))

    assert (request.method, request.path, request.content_type) == ("PATCH", NODE, "application/merge-patch+json")
    assert request.query == {"fieldManager": "gpu-reconciler"}
    assert decode(request.body) == {
        "metadata": {"uid": "u-1", "resourceVersion": "4711"},
        "spec": {
            "taints": [
                {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
                {
                    "key": "node.kubernetes.io/unreachable",
                    "effect": "NoExecute",
                    "timeAdded": "2026-03-01T11:00:00Z",
                },
                {"key": "gpu-reconciler.io/fence", "value": "slicing-20260301T123000Z", "effect": "NoSchedule"},
            ]
        },
    }


def test_a_restart_is_one_delete_of_this_very_pod_with_its_own_grace_period() -> None:
    request = write.restart_plugin(RestartPlugin(NodeKey(NodeName("n1"), "u-1"), PodRef("nvidia", "plugin", "u-2")))

    assert (request.method, request.path) == ("DELETE", f"{PODS}/plugin")
    assert decode(request.body) == {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u-2"}}


@virtual
async def test_a_fence_is_set_behind_the_others_and_taken_away_again_and_all_else_stays() -> None:
    acting = Sharing()
    before = acting.there()

    assert await acting.actuator.apply([acting.set_fence()]) == [Done()]
    fenced = acting.there()
    assert [taint["key"] for taint in fenced["spec"]["taints"]] == [*(taint.key for taint in OTHERS), FENCE.key]

    version = fenced["metadata"]["resourceVersion"]
    assert await acting.actuator.apply([ClearTaint(acting.key, FENCE.key, OTHERS, version)]) == [Done()]
    after = acting.there()
    for part in (before, after):
        del part["metadata"]["resourceVersion"]
        part["metadata"].pop("managedFields", None)
    assert after == before


@virtual
async def test_the_first_taint_of_a_node_makes_the_list() -> None:
    acting = Sharing()
    made = acting.world.merge(NODE, {"spec": {"taints": None}})

    action = SetTaint(acting.key, FENCE, (), made["metadata"]["resourceVersion"])
    assert await acting.actuator.apply([action]) == [Done()]
    assert acting.there()["spec"]["taints"] == [{"key": FENCE.key, "effect": "NoSchedule", "value": FENCE.value}]


@virtual
async def test_a_node_that_changed_meanwhile_is_not_fenced_over_the_change() -> None:
    acting = Sharing()
    acting.world.merge(NODE, {"metadata": {"labels": {"moved": "on"}}})

    with pytest.raises(Stale):
        await acting.actuator.apply([acting.set_fence()])
    assert [taint["key"] for taint in acting.there()["spec"]["taints"]] == [taint.key for taint in OTHERS]


@virtual
async def test_a_node_that_is_gone_or_a_namesake_is_not_fenced() -> None:
    acting = Sharing()
    action = acting.set_fence()
    acting.world.do("DELETE", NODE)
    [gone] = await acting.actuator.apply([action])
    made = acting.world.node("n1")
    [namesake] = await acting.actuator.apply([replace(action, resource_version=made["metadata"]["resourceVersion"])])

    assert isinstance(gone, Lost)
    assert isinstance(namesake, Lost)
    assert FENCE.key not in [taint["key"] for taint in acting.there()["spec"]["taints"]]


@virtual
async def test_a_plugins_pod_is_deleted_and_a_second_time_is_lost() -> None:
    acting = Sharing()

    assert await acting.actuator.apply([acting.restart()]) == [Done()]
    assert acting.pods() == []
    acting.pod_ends()
    [again] = await acting.actuator.apply([acting.restart()])
    assert isinstance(again, Lost)


@virtual
async def test_the_pod_that_took_the_name_is_left_alone() -> None:
    """DaemonSets make new names, but a plain pod or a StatefulSet would not."""
    acting = Sharing()
    action = acting.restart()
    acting.pod_ends()
    namesake = acting.start_plugin()

    [outcome] = await acting.actuator.apply([action])
    assert isinstance(outcome, Lost)
    assert acting.pods() == [namesake.uid]


def answered(code: int, message: str) -> Answer:
    return Answer(Response(code, f'{{"kind":"Status","code":{code},"message":"{message}"}}'.encode()))


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (FORBIDDEN, Forbidden, "DELETE /api/v1/namespaces/nvidia/pods/plugin: 403"),
        (answered(422, "no"), Rejected, "422 no"),
        (answered(500, "no"), Unavailable, "500 no"),
    ],
)
@virtual
async def test_what_keeps_a_plugin_from_being_restarted_is_told_with_verb_and_pod(
    fault: Any, error: type[Exception], says: str
) -> None:
    """The right is not given by default (deploy/manifests): then the error names what to grant."""
    acting = Sharing()
    acting.world.faults.add(fault, path=PODS)

    with pytest.raises(error, match=says):
        await acting.actuator.apply([acting.restart()])
    assert acting.pods() == [acting.pod.uid]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (answered(422, "spec.taints[2].value: Invalid value"), Rejected),
        (answered(409, "the object has been modified"), Stale),
    ],
)
@virtual
async def test_a_refused_fence_is_no_fence(fault: Any, error: type[Exception]) -> None:
    acting = Sharing()
    acting.world.faults.add(fault, path=NODE)

    with pytest.raises(error):
        await acting.actuator.apply([acting.set_fence()])


@pytest.mark.parametrize("order", ["set_fence", "restart"])
@virtual
async def test_nothing_of_it_is_done_once_the_lease_has_passed(order: str) -> None:
    acting = Sharing()
    action: Action = getattr(acting, order)()
    acting.left = 0.0

    with pytest.raises(NotLeader):
        await acting.actuator.apply([action])
    assert acting.world.calls() == []


@virtual
async def test_what_could_not_be_written_down_is_not_done() -> None:
    """The budget of restarts is in the annotation: a restart that nobody will remember would be one too many."""
    acting = Sharing()
    lost = replace(acting.key, uid="another")

    outcomes = await acting.actuator.apply([Advertise(lost, annotations={"x/y": "1"}), acting.restart()])
    assert [type(outcome) for outcome in outcomes] == [Lost]
    assert acting.pods() == [acting.pod.uid]


@virtual
async def test_a_reason_of_sharing_is_announced_as_one_of_memory_is() -> None:
    acting = Sharing()
    action = Announce(acting.key, SharingReason.REVERTED, "the template of NodePool dev sets it", warning=True)

    assert await acting.actuator.apply([action, action]) == [Done(), Done()]
    [event] = acting.world.do("GET", "/api/v1/namespaces/default/events")["items"]
    assert (event["reason"], event["type"]) == ("Reverted", "Warning")
