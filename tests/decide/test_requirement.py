"""decide/requirement.py: as Karpenter judges labels, and what follows where we do not know them."""

import pytest

from reconciler.decide.requirement import Fit, fit, normal
from tests.decide.paper_overlays import need

YES, MAYBE, NO = Fit.YES, Fit.MAYBE, Fit.NO


@pytest.mark.parametrize(
    ("operator", "values", "label", "answer"),
    [
        ("In", ["g", "p"], "g", YES),
        ("In", ["p"], "g", NO),
        ("NotIn", ["p"], "g", YES),
        ("NotIn", ["g"], "g", NO),
        ("Exists", [], "g", YES),
        ("DoesNotExist", [], "g", NO),
        ("Gt", ["4"], "5", YES),
        ("Gt", ["5"], "5", NO),
        ("Gte", ["5"], "5", YES),
        ("Lt", ["5"], "5", NO),
        ("Lt", ["6"], "5", YES),
        ("Lte", ["5"], "5", YES),
        ("Lte", ["4"], "5", NO),
        ("Gt", ["4"], "g", NO),
        ("Gt", ["four"], "5", MAYBE),
        ("Gt", [], "5", MAYBE),
        ("Near", ["5"], "5", MAYBE),
    ],
)
def test_a_known_label_is_judged_as_karpenter_does(operator: str, values: list[str], label: str, answer: Fit) -> None:
    assert fit(need("key", operator, *values), frozenset({label})) is answer


@pytest.mark.parametrize(
    ("operator", "answer"),
    [("In", NO), ("Exists", NO), ("Gt", NO), ("Lte", NO), ("NotIn", YES), ("DoesNotExist", YES)],
)
def test_an_absent_label_meets_only_what_asks_for_absence(operator: str, answer: Fit) -> None:
    assert fit(need("key", operator, "1"), frozenset()) is answer


@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"])
def test_of_an_unknown_label_nothing_is_excluded(operator: str) -> None:
    assert fit(need("key", operator, "1"), None) is MAYBE


def test_a_label_of_several_possible_values_is_sure_only_where_all_agree() -> None:
    either = frozenset({"0", "1"})
    assert fit(need("key", "In", "1"), either) is MAYBE
    assert fit(need("key", "In", "0", "1"), either) is YES
    assert fit(need("key", "Gt", "1"), either) is NO


def test_an_old_spelling_counts_as_the_new() -> None:
    assert normal("beta.kubernetes.io/instance-type") == "node.kubernetes.io/instance-type"
