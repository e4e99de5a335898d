"""A node on paper, shared: what the API server makes of a decision on sharing, so that decisions can be played out."""

from dataclasses import replace
from datetime import datetime

from reconciler.decide.slicing import SharingDecision, SharingFacts, decide
from reconciler.model.plan import RestartPlugin
from reconciler.model.policy import SlicingPolicy
from tests.decide.fake_node import NOW, applied


def after(facts: SharingFacts, decision: SharingDecision) -> SharingFacts:
    """What is known once the actions are carried out and nothing else has happened."""
    for action in decision.actions:
        facts = replace(facts, node=applied(facts.node, action))
        if isinstance(action, RestartPlugin):
            facts = replace(facts, pods=tuple(pod for pod in facts.pods if pod.ref != action.pod))
    return facts


def settled(
    facts: SharingFacts, policy: SlicingPolicy, now: datetime = NOW, passes: int = 6
) -> tuple[SharingFacts, list[SharingDecision]]:
    """Decide and act until nothing is left to do; the decisions with actions, in order."""
    decisions: list[SharingDecision] = []
    for _ in range(passes):
        decision = decide(facts, policy, now)
        if not decision.actions:
            return facts, decisions
        decisions.append(decision)
        facts = after(facts, decision)
    raise AssertionError(f"after {passes} passes there is still something to do: {decisions}")
