"""The label is right: does the device plugin offer what its profile says, and how long may it take?"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from reconciler.decide import not_following, offered_slots
from reconciler.decide.offered_slots import OfferedSlots
from reconciler.decide.sharing_answer import Answer
from reconciler.decide.sharing_facts import SharingFacts
from reconciler.decide.time_left import remaining
from reconciler.decide.wish import Wish
from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.plugin import PluginPod
from reconciler.model.policy import SlicingPolicy
from reconciler.model.reasons import SharingReason
from reconciler.model.sharing import Profile
from reconciler.model.sharing_record import SharingRecord

SHOWN_AFTER = timedelta(seconds=15)
"""A kubelet posts its status every 10 s (nodeStatusUpdateFrequency): so long a count may be older than our label."""


def of(
    facts: SharingFacts, wish: Wish, profile: Profile, record: SharingRecord, policy: SlicingPolicy, now: datetime
) -> Answer:
    """The answer for a node whose label is right."""
    node, pod = facts.node, facts.pod
    there = offered_slots.of(node, profile, facts.memory.count, policy)
    if there.right:
        early = _too_early(node, pod, record, now)
        if early is not None:
            return switching(wish, there, record, early)
        return replace(met(wish, there, record), removes=_stale(node, there, record, policy))
    cause = not_following.certain(pod, now)
    if cause is None:
        left = _time_left(node, pod, record, policy, now)
        if left is not None:
            back = _was_right(node, record)
            return _returning(wish, there, record, left) if back else switching(wish, there, record, left)
        cause = not_following.over_time(pod, there, wish.profile)
    answer = replace(_waiting(wish, there, record, cause.reason, cause.because), revisit=cause.revisit)
    silent = cause.reason is SharingReason.NO_GPUS_OFFERED
    if silent and policy.restart_plugin and record.restarts < policy.most_restarts:
        return replace(answer, record=replace(record, restarts=record.restarts + 1, at=now), restart=pod)
    return answer


def met(wish: Wish, there: OfferedSlots, record: SharingRecord) -> Answer:
    """The node offers what is wanted."""
    return Answer(
        SharingReason.SLICED if there.slices > 1 else SharingReason.EXCLUSIVE,
        f"the device plugin offers {there.wanted}, {wish.because}",
        record,
        profile=wish.profile,
        expected=there.expected,
    )


def switching(wish: Wish, there: OfferedSlots, record: SharingRecord, left: timedelta) -> Answer:
    """The label says it, and the plugin has time to follow."""
    why = (
        f"the label {names.PLUGIN_CONFIG} says {wish.profile}, {wish.because}; the device plugin has time to offer"
        f" {there.wanted}"
    )
    return replace(_waiting(wish, there, record, SharingReason.SWITCHING, why), revisit=left)


def _returning(wish: Wish, there: OfferedSlots, record: SharingRecord, left: timedelta) -> Answer:
    why = (
        f"the device plugin offered {there.expected} {there.name} and does not now; it has time to come back, as after"
        " a restart of its own or of the node"
    )
    return replace(_waiting(wish, there, record, SharingReason.RETURNING, why), revisit=left)


def _waiting(wish: Wish, there: OfferedSlots, record: SharingRecord, reason: SharingReason, because: str) -> Answer:
    return Answer(
        reason,
        because,
        record,
        holds=f"until the device plugin offers {there.expected} {there.name}",
        profile=wish.profile,
        expected=there.expected,
        keeps_fence=True,
    )


def _too_early(node: NodeView, pod: PluginPod | None, record: SharingRecord, now: datetime) -> timedelta | None:
    """How long until the right count is sure to be younger than our label; None: it is.

    The former profile may make the same count. The plugin starts anew all the same, and in that gap no pod may come. A
    pod of the plugin that started after the label has read it at its start.
    """
    standing = node.sharing_condition
    if record.at is None or record.profile != node.labels.get(names.PLUGIN_CONFIG):
        return None
    if standing is not None and standing.status == "True":
        return None
    if pod is not None and pod.started is not None and pod.started > record.at:
        return None
    return remaining(record.at, SHOWN_AFTER, now)


def _time_left(
    node: NodeView, pod: PluginPod | None, record: SharingRecord, policy: SlicingPolicy, now: datetime
) -> timedelta | None:
    """How long the plugin may take still.

    Since our label, since the node ceased to be right or was first seen, and since the plugin's pod became ready.
    """
    standing = node.sharing_condition
    since = standing.since if standing is not None and standing.status != "True" else now
    starts = (since, record.at, pod.ready_since if pod is not None else None)
    return max(
        (left for start in starts if start is not None and (left := remaining(start, policy.follow_within, now))),
        default=None,
    )


def _was_right(node: NodeView, record: SharingRecord) -> bool:
    """Whether the node was right since our last label."""
    standing = node.sharing_condition
    if standing is None:
        return False
    if standing.status == "True" or standing.reason == SharingReason.RETURNING.value:
        return True
    return record.at is not None and standing.since > record.at


def _stale(node: NodeView, there: OfferedSlots, record: SharingRecord, policy: SlicingPolicy) -> str:
    """The former name, where nothing but a zero is left of it and the profile is ours; empty: nothing to remove."""
    name = there.other_name
    ours = record.profile == node.labels.get(names.PLUGIN_CONFIG)
    zero = name in node.capacity and not _amount(node.capacity, name) and not _amount(node.allocatable, name)
    return name if policy.remove_stale and ours and zero else ""


def _amount(amounts: Mapping[str, int], name: str) -> int:
    return amounts.get(name, 0)
