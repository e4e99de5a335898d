"""Does the node offer what is wanted without our label, by its host's plugin or by the plugin's default?"""

from dataclasses import replace

from reconciler.decide import following, offered_slots
from reconciler.decide.offered_profile import Fault
from reconciler.decide.sharing_answer import Answer
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.wish import Wish
from reconciler.model import names
from reconciler.model.policy import SlicingPolicy
from reconciler.model.sharing import Profile
from reconciler.model.sharing_record import SharingRecord


def by_the_host(wish: Wish, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord) -> Answer | None:
    """Under either name: Bottlerocket renames slices unless it is told not to."""
    profile = _as_wished(wish, facts)
    if profile is None:
        return None
    for renamed in (profile.renamed, not profile.renamed):
        there = offered_slots.of(facts.node, replace(profile, renamed=renamed), facts.memory.count, policy)
        if there.right:
            return following.met(wish, there, record)
    return None


def by_default(
    wish: Wish, profile: Profile | Fault, facts: SharingFacts, policy: SlicingPolicy, record: SharingRecord
) -> Answer | None:
    """A node without label whose plugin offers what is wanted by its default: it need not start anew for a label.

    Behind the startup taint it does: no pod is hurt, and the node keeps its profile when the default changes.
    """
    node, usable = facts.node, isinstance(profile, Profile)
    if names.PLUGIN_CONFIG in node.labels or (node.has_startup_taint and usable):
        return None
    known = profile if isinstance(profile, Profile) else _as_wished(wish, facts)
    if known is None:
        return None
    there = offered_slots.of(node, known, facts.memory.count, policy)
    return following.met(wish, there, record) if there.right else None


def _as_wished(wish: Wish, facts: SharingFacts) -> Profile | None:
    """The profile by the rule's count; one that a person named, by the ConfigMap."""
    if wish.replicas is not None:
        return Profile(wish.replicas)
    known = facts.plugin.profiles.get(wish.profile) if facts.plugin is not None else None
    return known if isinstance(known, Profile) else None
