"""The ServiceAccount can do all it needs and nothing else."""

import pytest

from tests.deploy.forbidden_verbs import FORBIDDEN, FORBIDDEN_BY_DEFAULT
from tests.deploy.needed_verbs import FOR_RESTARTS, FOR_SHARING, NEEDED
from tests.deploy.objects import MANIFESTS, ROOT, SHARING, manifests, sharing
from tests.deploy.rights import Attempt, Rule, rules

CONTROLLER = ("gpu-reconciler", "gpu-reconciler")
PROBE = ("gpu-reconciler", "gpu-reconciler-probe")
ALONE = list(rules(manifests(), CONTROLLER))
WITH_SHARING = list(rules([*manifests(), *sharing()], CONTROLLER))
WITH_RESTARTS = list(rules([*manifests(), *sharing("restart-plugin.yaml")], CONTROLLER))
INSTALLATIONS = {
    "alone": (ALONE, NEEDED),
    "with sharing": (WITH_SHARING, (*NEEDED, *FOR_SHARING)),
    "with restarts": (WITH_RESTARTS, (*NEEDED, *FOR_SHARING, *FOR_RESTARTS)),
}


def _allowed(attempt: Attempt, among: list[Rule]) -> bool:
    return any(rule.allows(attempt) for rule in among)


def _granted(among: list[Rule]) -> set[Attempt]:
    return {
        Attempt(verb, group, resource, rule.namespace, name)
        for rule in among
        for group in rule.groups
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.names or (None,)
    }


@pytest.mark.parametrize(("among", "needed"), INSTALLATIONS.values(), ids=INSTALLATIONS)
def test_what_the_controller_needs_it_may(among: list[Rule], needed: tuple[Attempt, ...]) -> None:
    assert [str(attempt) for attempt in needed if not _allowed(attempt, among)] == []


@pytest.mark.parametrize(("among", "needed"), INSTALLATIONS.values(), ids=INSTALLATIONS)
def test_every_verb_that_is_granted_is_needed(among: list[Rule], needed: tuple[Attempt, ...]) -> None:
    """A right that nobody names in needed_verbs.py is a right too many."""
    assert _granted(among) == set(needed)


@pytest.mark.parametrize(("among", "needed"), INSTALLATIONS.values(), ids=INSTALLATIONS)
def test_what_no_controller_should_do_it_may_not(among: list[Rule], needed: tuple[Attempt, ...]) -> None:
    assert [str(attempt) for attempt in FORBIDDEN if _allowed(attempt, among)] == []


def test_the_plugins_pods_are_deleted_only_where_people_gave_the_right() -> None:
    assert [str(attempt) for attempt in FORBIDDEN_BY_DEFAULT if _allowed(attempt, WITH_SHARING)] == []
    assert [one.file.name for one in sharing()] == ["role.yaml", "role.yaml"], "restart-plugin.yaml is not listed"


def test_sharing_needs_no_right_where_nobody_shares() -> None:
    """A cluster without the device plugin's namespace could not take a Role there."""
    assert {rule.namespace for rule in ALONE} == {None, "gpu-reconciler", "default"}


def test_every_right_is_a_line_in_the_page_on_security_and_no_line_is_out_of_date() -> None:
    """`| where | what: verbs | why |`, and `by name` in the what where the right is bound to one."""
    table = (ROOT / "docs" / "security.md").read_text().split("| where | what | why |")[1].split("\n\n")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    told = {
        (where, resource.removesuffix(" by name"), resource.endswith(" by name"), verb)
        for where, what, _ in lines
        for resource, _, verbs in [what.partition(": ")]
        for verb in verbs.split(", ")
    }
    places = {None: "cluster", "gpu-reconciler": "its namespace", "default": "`default`"}
    assert told == {
        (
            places.get(right.namespace, "the plugin's namespace"),
            f"{right.resource}.{right.group}" if right.group == "karpenter.sh" else right.resource,
            right.name is not None,
            right.verb,
        )
        for right in _granted(WITH_RESTARTS)
    }


def test_the_probe_has_no_rights_at_all() -> None:
    assert list(rules([*manifests(), *sharing("restart-plugin.yaml")], PROBE)) == []


def test_rules_tell_what_reads_from_what_writes() -> None:
    for file in (MANIFESTS / "clusterrole.yaml", MANIFESTS / "role.yaml", *SHARING.glob("r*.yaml")):
        read, write = file.read_text().split("# Read\n")[1].split("# Write\n")
        verbs = ("create", "update", "patch", "delete")
        assert "verbs" in read + write, file
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
