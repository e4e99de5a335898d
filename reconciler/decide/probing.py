"""Is a probe due, and when should somebody look at it again?"""

from datetime import datetime, timedelta

from reconciler.decide import finding
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.finding import Ended
from reconciler.decide.verdict import Verdict
from reconciler.model.plan import RunProbe
from reconciler.model.policy import CapacityPolicy
from reconciler.model.probe_state import Probing
from reconciler.model.record import CapacityRecord

FIRST_RETRY = timedelta(minutes=2)


def due(
    facts: CapacityFacts, policy: CapacityPolicy, verdict: Verdict, ended: Ended | None, now: datetime
) -> tuple[RunProbe | None, timedelta | None]:
    """The probe to run now, and when to look again.

    One for each boot, and one more each time that a verdict without full figures has grown old: after FIRST_RETRY,
    then twice as long each time, up to policy.probe_retry. A driver that a container installs comes minutes late.
    """
    node = facts.node
    if not policy.probe or not verdict.probe_wanted or verdict.conclusive:
        return None, None
    if isinstance(facts.probe, Probing):
        return None, policy.probe_poll
    if not node.ready or not node.boot_id or node.disrupted:
        # The node's next event tells; until then a probe could not run, or not be named, or Karpenter empties the node.
        return None, None
    if ended is None or not ended.fresh:
        return RunProbe(node.key, node.boot_id, node.instance_type), policy.probe_poll
    wait = min(policy.probe_retry, FIRST_RETRY * 2.0 ** min(ended.serial, 20))
    record = node.record if isinstance(node.record, CapacityRecord) else None
    # A time still to come was written before our clock was set back: taken as past, it delays by one wait at most.
    left = wait - abs(now - finding.first_seen(ended, record, now))
    if left > timedelta(0):
        return None, left
    return RunProbe(node.key, node.boot_id, node.instance_type, ended.serial + 1), policy.probe_poll
