"""decide/capacity.py: one row for each situation a node can be in, with the answer it gets."""

from datetime import timedelta

import pytest

from reconciler.decide.capacity import decide
from reconciler.model.plan import Advertise, Announce
from reconciler.model.probe_state import Probing
from reconciler.model.quantity import MIB
from reconciler.model.reasons import Reason
from tests.decide import situations_before, situations_found, situations_told
from tests.decide.fake_node import NOW, facts_of, kinds, node
from tests.decide.figures import T4
from tests.decide.situation import POLICY, Row

ROWS = [*situations_before.ROWS, *situations_found.ROWS, *situations_told.ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_node_in_this_situation_gets_this_answer(row: Row) -> None:
    decision = decide(row.facts, row.policy, NOW)

    assert decision.plan.reason is row.reason
    assert decision.verdict.mib == row.mib
    assert kinds(decision.plan) == row.actions
    assert row.says in decision.plan.because
    assert row.source is None or decision.verdict.source is row.source
    for patch in (action for action in decision.plan.actions if isinstance(action, Advertise)):
        amount = None if row.mib is None else row.mib * MIB
        assert patch.resources.get(row.policy.resource) == amount
        assert patch.condition is not None
        assert patch.condition.status == ("False" if row.mib is None else "True")
        assert row.extra.items() <= patch.labels.items()
        assert patch.condition.message in decision.plan.because


def test_every_reason_has_a_row_here_or_a_story() -> None:
    """The reasons that come from what stands on a node are in test_claim.py."""
    elsewhere = {Reason.WOULD_OVERCOMMIT, Reason.FOREIGN_VALUE, Reason.CONTESTED}

    assert {row.reason for row in ROWS} == set(Reason) - elsewhere


def test_row_names_are_sentences_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


WARNS = {Reason.MISMATCH, Reason.GPU_LOST, Reason.NO_NVML, Reason.UNVERIFIED, Reason.NOTHING_LEFT}


@pytest.mark.parametrize("row", [row for row in ROWS if "Announce" in row.actions], ids=lambda row: row.name)
def test_a_new_reason_is_announced_and_warns_where_a_person_should_look(row: Row) -> None:
    said = [action for action in decide(row.facts, row.policy, NOW).plan.actions if isinstance(action, Announce)]

    assert said[0].reason is row.reason
    assert said[0].warning == (row.reason in WARNS and row.policy.probe)


def test_the_first_answer_of_a_node_is_looked_at_again_while_its_probe_runs() -> None:
    decision = decide(facts_of(node(), spec=T4.spec(), probe=Probing(NOW)), POLICY, NOW)

    assert decision.plan.revisit == timedelta(seconds=30)
