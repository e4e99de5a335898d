"""decide/explanation.py: one object for people and programs, as `explain` prints it."""

import json
from dataclasses import replace
from typing import Any

from reconciler.decide.explanation import explain
from reconciler.decide.limits import Load
from reconciler.decide.node import NodeFacts, NodePolicy
from reconciler.model import names
from reconciler.model.gpu import NoGpu
from reconciler.model.node import InstanceType, Taint
from reconciler.model.plan import Action, Advertise, Announce, ClearTaint, Learn, RunProbe
from reconciler.model.policy import CapacityPolicy, SlicingPolicy
from reconciler.model.quantity import MIB
from tests.decide.fake_node import NOW, facts_of, node, settled
from tests.decide.figures import T4

VERIFF = CapacityPolicy(resource="veriff.com/gpu-memory")
POLICY = NodePolicy(VERIFF, SlicingPolicy())
POD = {VERIFF.resource: 104 * MIB}


def document(**others: Any) -> dict[str, Any]:
    """The object as a program reads it."""
    known = facts_of(node(), spec=T4.builtin())
    what = explain(NodeFacts(replace(known, **others)), POLICY, NOW, load=Load(pods=4), pod=POD)
    read: dict[str, Any] = json.loads(json.dumps(what.to_document()))
    return read


def test_it_has_the_documented_fields_and_no_others() -> None:
    assert list(document()) == [
        "node",
        "instance_type",
        "resource",
        "mib",
        "source",
        "reason",
        "because",
        "sharing",
        "opinions",
        "limits",
        "actions",
    ]


def test_a_node_that_would_be_advertised() -> None:
    what = document()

    assert (what["node"], what["instance_type"]) == ("ip-10-0-0-1", "g4dn.xlarge")
    assert (what["resource"], what["mib"], what["source"]) == ("veriff.com/gpu-memory", 14592, "builtin")
    assert what["reason"] == "Provisional"
    assert "15360 MiB" in what["because"]
    assert [action["kind"] for action in what["actions"]] == ["Announce", "Advertise", "RunProbe"]
    patch = what["actions"][1]
    assert patch["resources"] == {"veriff.com/gpu-memory": 14592 * MIB}
    assert patch["labels"][names.LABEL_MODEL] == "T4"
    assert patch["condition"]["since"] == "2026-11-30T12:00:00+00:00"


def test_limits_count_with_the_figure_that_would_be_advertised() -> None:
    """On a g4dn.xlarge the number of pods binds long before GPU memory does."""
    assert document()["limits"] == [
        {"resource": "pods", "fits": 25, "total": 29, "binds": True},
        {"resource": "veriff.com/gpu-memory", "fits": 140, "total": 140, "binds": False},
    ]


def test_a_node_that_is_none_of_our_business_says_why_with_nothing_to_advertise() -> None:
    what = document(spec=NoGpu(InstanceType("g4dn.xlarge"), "Neuron"))

    assert (what["mib"], what["source"], what["reason"], what["actions"]) == (None, "none", "NoGPU", [])
    assert "Neuron" in what["because"]


def test_a_node_without_a_type_is_explained_too() -> None:
    what = document(node=node(None), spec=None)

    assert (what["instance_type"], what["mib"]) == (None, None)


def test_without_a_load_the_memory_that_is_known_to_be_requested_counts() -> None:
    known = facts_of(node(), spec=T4.builtin(), requested=14592 * MIB)

    assert [limit.fits for limit in explain(NodeFacts(known), POLICY, NOW, pod=POD).limits] == [0, 29]


def test_every_kind_of_action_can_be_written_down() -> None:
    held = node(taints=(Taint(names.STARTUP_TAINT, "NoSchedule"), Taint("special", "NoSchedule")))
    known = facts_of(held, spec=T4.spec())
    seen: list[Action] = list(explain(NodeFacts(known), POLICY, NOW).actions)
    known, plans = settled(replace(known, probe=T4.probed()), VERIFF)
    seen += [action for what in plans for action in what.actions]
    assert {type(action) for action in seen} == {Advertise, ClearTaint, RunProbe, Learn, Announce}

    for action in seen:
        shown = replace(explain(NodeFacts(known), POLICY, NOW), actions=(action,)).to_document()
        json.dumps(shown)
