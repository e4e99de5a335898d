"""The ServiceAccount can do all it needs and nothing else."""

import pytest

from tests.deploy.forbidden_verbs import FORBIDDEN
from tests.deploy.needed_verbs import NEEDED
from tests.deploy.objects import MANIFESTS, manifests
from tests.deploy.rights import Attempt, Rule, rules

CONTROLLER = ("gpu-reconciler", "gpu-reconciler")
PROBE = ("gpu-reconciler", "gpu-reconciler-probe")
RULES = list(rules(manifests(), CONTROLLER))


def _allowed(attempt: Attempt) -> bool:
    return any(rule.allows(attempt) for rule in RULES)


@pytest.mark.parametrize("attempt", NEEDED, ids=str)
def test_what_the_controller_needs_it_may(attempt: Attempt) -> None:
    assert _allowed(attempt)


def test_what_no_controller_should_do_it_may_not() -> None:
    assert [str(attempt) for attempt in FORBIDDEN if _allowed(attempt)] == []


def test_every_verb_that_is_granted_is_needed() -> None:
    """A right that nobody names in needed_verbs.py is a right too many."""
    granted = {
        Attempt(verb, group, resource, rule.namespace, name)
        for rule in RULES
        for group in rule.groups
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.names or (None,)
    }
    assert granted == set(NEEDED)


def test_the_probe_has_no_rights_at_all() -> None:
    assert list(rules(manifests(), PROBE)) == []


def test_rules_tell_what_reads_from_what_writes() -> None:
    for file in ("clusterrole.yaml", "role.yaml"):
        read, write = (MANIFESTS / file).read_text().split("# Read\n")[1].split("# Write\n")
        verbs = ("create", "update", "patch", "delete")
        assert not any(f"[{verb}" in read or f", {verb}" in read for verb in verbs), file
        assert "verbs: [get" not in write, file


@pytest.mark.parametrize(
    ("attempt", "allowed"),
    [
        (Attempt("get", "", "configmaps", "here", "mine"), True),
        (Attempt("get", "", "configmaps", "here", "other"), False),
        (Attempt("get", "", "configmaps", "here"), False),
        (Attempt("get", "", "configmaps", "there", "mine"), False),
        (Attempt("get", "apps", "configmaps", "here", "mine"), False),
        (Attempt("list", "", "configmaps", "here", "mine"), False),
        (Attempt("get", "", "configmaps/x", "here", "mine"), False),
    ],
    ids=str,
)
def test_a_rule_is_read_as_kubernetes_reads_it(attempt: Attempt, allowed: bool) -> None:
    rule = Rule("here", ("",), ("configmaps",), ("get",), ("mine",))
    assert rule.allows(attempt) is allowed
