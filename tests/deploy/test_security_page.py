"""docs/security.md: the table of rights is what the manifests grant, no line more and none less."""

import re

from tests.deploy.needed_verbs import OWN, PLUGIN
from tests.deploy.objects import ROOT, manifests, sharing
from tests.deploy.rights import rules

ROW = re.compile(
    r"^\| (?P<where>[^|]+) \| (?P<what>[a-z/.0-9]+)(?P<named> by name)?: (?P<verbs>[a-z, ]+) \| [^|]+ \|$", re.M
)
PLACES = {"cluster": None, "its namespace": OWN, "`default`": "default", "the plugin's namespace": PLUGIN}
GROUPS = {"jobs": "batch", "leases": "coordination.k8s.io"}
"""Of kinds that the page names without their group."""

Right = tuple[str | None, str, str, bool, str]
"""Where, group, resource, whether by name only, and the verb."""


def on_the_page() -> set[Right]:
    found = set()
    for row in ROW.finditer((ROOT / "docs" / "security.md").read_text()):
        kind, _, group = row["what"].partition(".")
        for verb in row["verbs"].split(", "):
            found.add((PLACES[row["where"]], group or GROUPS.get(kind, ""), kind, row["named"] is not None, verb))
    return found


def granted() -> set[Right]:
    everything = [*manifests(), *sharing("restart-plugin.yaml")]
    return {
        (rule.namespace, group, resource, bool(rule.names), verb)
        for rule in rules(everything, (OWN, OWN))
        for group in rule.groups
        for resource in rule.resources
        for verb in rule.verbs
    }


def test_the_page_lists_every_right_and_no_other() -> None:
    assert on_the_page() == granted()
