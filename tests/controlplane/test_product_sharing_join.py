"""What does a join cost where the node is sliced, and in which order does it become what its rule says?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model import names
from tests.aws import ec2_double
from tests.controlplane import history
from tests.controlplane.api import Json
from tests.controlplane.audit import Call
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.device_plugin import PluggedNode
from tests.controlplane.kubelet import HollowKubelet
from tests.controlplane.pods import pod_asking
from tests.controlplane.product import MEMORY, PROBED, Installation, g4dn_with_driver, memory
from tests.controlplane.replica import Replica
from tests.controlplane.sharing_stage import GPU, STARTUP, offered, plugin_installed, profile, taints, told
from tests.controlplane.waiting import eventually

RULES = json.dumps([{"name": "dev", "labels": {"team": "vision"}, "replicas": 4}])
FIRST, NEXT = 13, 8
"""Calls from the first one to both conditions true: for the first node of its type, and for every further one.

The first writes what EC2 and the probe say of the type into the catalog: read and write, two times; and EC2 answers
after the node's first patch, which is one more.
"""


def both(node: Json) -> bool:
    return (told(node, names.CONDITION), told(node)) == ("True/Verified", "True/Sliced")


def table(calls: list[Call]) -> str:
    """The calls as lines to read: when, what, and which fields were written."""
    return "\n".join(
        f"{(call.at - calls[0].at).total_seconds():6.2f} s  {call.verb:6}  {call.resource:12}  {written(call)}"
        for call in calls
    )


def written(call: Call) -> str:
    body = call.body or {}
    if call.resource == "events":
        return str(body.get("reason", ""))
    metadata, status, spec = body.get("metadata", {}), body.get("status", {}), body.get("spec", {})
    conditions = [f"{one['type']}={one['status']}/{one['reason']}" for one in status.get("conditions", [])]
    labels = [f"{key}={value}" for key, value in metadata.get("labels", {}).items() if call.resource == "nodes/status"]
    amounts = [f"{key}={value}" for key, value in status.get("capacity", {}).items()]
    return " ".join([*amounts, *labels, *conditions, *(["taints"] if "taints" in spec else [])])


@pytest.fixture
def ec2() -> Iterator[ec2_double.Double]:
    """An EC2 that says of every type that it has one T4 of 16384 MiB."""
    with ec2_double.serving(lambda request: ec2_double.gpu_types(*request.values("InstanceType"))) as double:
        yield double


@pytest.mark.timeout(180)
def test_a_node_is_sliced_behind_its_startup_taint_and_a_pod_that_waits_meets_it_finished(
    control_plane: ControlPlane, installation: Installation, namespace: str, ec2: ec2_double.Double, tmp_path: Path
) -> None:
    """Label, four slots, both conditions, and the taint last; the pod is bound after that and not before."""
    installation.forget()
    plain = g4dn_with_driver(tmp_path, taints=(STARTUP,))
    machine = replace(plain, labels={**plain.labels, "team": "vision"})
    settings = {"slicing.rules": RULES, "aws.enabled": True, "aws.endpoint_url": ec2.url}
    with plugin_installed(control_plane), installation.replica("one", settings) as one:
        one.lead()
        start = history.now(control_plane)
        pod = f"/api/v1/namespaces/{namespace}/pods/waiting"
        control_plane.api.post(pod.rpartition("/")[0], pod_asking("waiting", {GPU: "1", MEMORY: f"{PROBED // 4}Mi"}))
        with PluggedNode(control_plane, "sliced-first", machine) as node:
            opens(node.kubelet)
            found = history.versions(control_plane, node.kubelet.path, start)
            eventually(lambda: control_plane.api.get(pod)["status"]["phase"] == "Running", "the pod runs", 30)
            bound = history.since(history.versions(control_plane, pod, start), lambda one: "nodeName" in one["spec"])
            assert memory(control_plane, node.kubelet.path) == (PROBED, PROBED)
            assert in_order(found) < bound
            first = calls(one)
            with PluggedNode(control_plane, "sliced-next", machine) as sibling:
                opens(sibling.kubelet)
                in_order(history.versions(control_plane, sibling.kubelet.path, start))
                following = calls(one)[len(first) :]

    for most, joined in ((FIRST, first), (NEXT, following)):
        last = next(number for number, call in enumerate(joined) if "GPUSharingReady=True" in written(call))
        sys.stdout.write(f"\nFrom the first call to both conditions: {last + 1} calls\n{table(joined)}\n")
        assert last + 1 <= most
        assert [(call.verb, call.resource) for call in joined[last + 1 :]] == [("patch", "nodes")], "the taint, no more"
        assert sum(call.resource == "events" for call in joined) == 4, "one for each answer that was new"


def opens(kubelet: HollowKubelet) -> None:
    eventually(lambda: not taints(kubelet.node()), f"the startup taint of {kubelet.name} is removed", 90)


def in_order(found: Sequence[Json]) -> int:
    """By every version of a node: it was open only when all was done. The version that opened it."""
    labelled = history.since(found, lambda one: profile(one) == "ts-4")
    sliced = history.since(found, lambda one: offered(one) == "4")
    answered = history.since(found, both)
    opened = history.since(found, lambda one: names.STARTUP_TAINT not in taints(one))
    assert labelled < sliced < answered < opened
    assert all(names.STARTUP_TAINT in taints(one) for one in found if int(one["metadata"]["resourceVersion"]) < opened)
    return opened


def calls(one: Replica) -> list[Call]:
    """What it asked and wrote. 409: the node changed before the watch told of the Job, which was ordered again."""
    return [call for call in one.calls() if call.verb != "watch" and call.resource != "leases" and call.status != 409]
