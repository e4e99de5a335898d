"""decide/slicing.py: one row for each situation a node can be in, with the answer it gets."""

import pytest

from reconciler.decide.sharing_answer import FOLLOWS, UNSAID, WARNINGS
from reconciler.decide.slicing import decide
from reconciler.model import names
from reconciler.model.plan import Advertise, Announce
from reconciler.model.reasons import SharingReason
from tests.decide import (
    slicing_situations_before,
    slicing_situations_label,
    slicing_situations_plugin,
    slicing_situations_switch,
    slicing_situations_wish,
)
from tests.decide.fake_node import NOW
from tests.decide.slicing_situation import Row, kinds, of_kind

ROWS = [
    *slicing_situations_before.ROWS,
    *slicing_situations_wish.ROWS,
    *slicing_situations_label.ROWS,
    *slicing_situations_switch.ROWS,
    *slicing_situations_plugin.ROWS,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_node_in_this_situation_gets_this_answer(row: Row) -> None:
    decision = decide(row.facts, row.policy, NOW)

    assert decision.reason is row.reason
    assert row.says in decision.because
    assert kinds(decision) == list(row.actions)
    assert decision.holds.startswith(row.holds)
    assert bool(decision.holds) == bool(row.holds)
    assert row.profile is None or decision.profile == row.profile
    assert row.expected is None or decision.expected == row.expected
    assert row.revisit is None or decision.revisit == row.revisit
    for patch in of_kind(decision.actions, Advertise):
        assert patch.labels == ({names.PLUGIN_CONFIG: row.label} if row.label else {})
        if row.reason in UNSAID:
            assert patch.condition is None
            assert patch.drop_condition == names.SHARING_CONDITION
        elif patch.condition is not None:
            assert patch.condition.status == ("True" if row.reason in FOLLOWS else "False")
            assert patch.condition.message == decision.because


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_new_reason_is_announced_and_warns_where_a_person_should_look(row: Row) -> None:
    announced = of_kind(decide(row.facts, row.policy, NOW).actions, Announce)

    for event in announced[:1]:
        assert event.reason is row.reason
        assert event.warning == (row.reason in WARNINGS)


def test_every_reason_has_a_row() -> None:
    assert {row.reason for row in ROWS} == set(SharingReason)


def test_row_names_are_sentences_of_their_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
