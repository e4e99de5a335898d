"""What does a node say whose config label somebody else writes?"""

from dataclasses import replace

from reconciler.decide import label_owner
from reconciler.decide.label_owner import Contest
from reconciler.decide.sharing_answer import Answer
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.wish import Wish
from reconciler.model import names
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing_record import SharingRecord


def foreign(wish: Wish, facts: SharingFacts, record: SharingRecord) -> Answer:
    """It never was ours, and is left as it is."""
    value = facts.node.labels.get(names.PLUGIN_CONFIG)
    why = (
        f"{label_owner.who(facts.node, facts.pool_label)} set the label {names.PLUGIN_CONFIG}={value}, and it is left"
        f" as it is; profile {wish.profile} is wanted, {wish.because}: remove the label, or take the node out of the"
        " rule"
    )
    return Answer(SharingReason.FOREIGN_LABEL, why, record, profile=wish.profile)


def reverted(wish: Wish, facts: SharingFacts, record: SharingRecord, contest: Contest) -> Answer:
    """It was ours, and somebody keeps writing over it: we stopped."""
    value, rival = facts.node.labels.get(names.PLUGIN_CONFIG), contest.contender
    last = f"it says {value}" if value is not None else "it is gone"
    times = "once" if rival.count == 1 else f"{rival.count} times"
    why = (
        f"{rival.who} wrote over our label {names.PLUGIN_CONFIG}={record.profile} {times} since"
        f" {rival.since.isoformat(timespec='seconds')}, now {last}, so we stopped for a while; profile {wish.profile}"
        f" is wanted, {wish.because}: find who writes the label (kubectl get node {facts.node.name} -o yaml"
        " --show-managed-fields)"
    )
    kept = replace(record, contender=rival)
    return Answer(SharingReason.REVERTED, why, kept, profile=wish.profile, revisit=contest.again_in)
