"""Whose is the plugin's config label on this node, and are we being written over?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import assert_never

from reconciler.model import names
from reconciler.model.node import NodeView
from reconciler.model.policy import SlicingPolicy, SlicingRule
from reconciler.model.record import UnreadableRecord
from reconciler.model.sharing import (
    EXCLUSIVE,
    LEAST_REPLICAS,
    Contender,
    Exclusive,
    MemoryPerSlice,
    Named,
    Replicas,
    profile_name,
)
from reconciler.model.sharing_record import SharingRecord


class Owner(Enum):
    RIGHT = auto()
    """The label says what is wanted, whoever wrote it."""
    OURS = auto()
    """It is absent, or says what we wrote: ours to write."""
    FOREIGN = auto()
    """Somebody else wrote it, and we never did."""
    REVERTED = auto()
    """Somebody wrote over ours, or removed it."""


def remembered(node: NodeView, policy: SlicingPolicy) -> SharingRecord:
    """The record. Where it is gone the API server's word counts on who wrote the label.

    Where it is there and cannot be read, a value that our rules could have written is taken for ours, too.
    """
    value = node.labels.get(names.PLUGIN_CONFIG)
    written_by_us = value is not None and node.profile_writer == names.FIELD_MANAGER
    match node.sharing_record:
        case None:
            return SharingRecord(profile=value if written_by_us else None)
        case SharingRecord() as record:
            return record
        case UnreadableRecord():
            ours = written_by_us or value in _possible(policy.rules)
            return SharingRecord(profile=value if ours else None)
        case _:
            assert_never(node.sharing_record)


def of(node: NodeView, record: SharingRecord, wanted: str) -> Owner:
    value = node.labels.get(names.PLUGIN_CONFIG)
    if value == wanted:
        return Owner.RIGHT
    if value == record.profile:
        return Owner.OURS
    return Owner.FOREIGN if record.profile is None else Owner.REVERTED


def who(node: NodeView, pool_label: str) -> str:
    """Whoever wrote the label, as the subject of a sentence."""
    value = node.labels.get(names.PLUGIN_CONFIG)
    if pool_label and value == pool_label:
        return "the template of its NodePool"
    return node.profile_writer or "somebody"


@dataclass(frozen=True, slots=True)
class Contest:
    """One more revert, counted in."""

    contender: Contender
    stopped: bool
    """Whether it is one too many: the label is left as it is."""
    again_in: timedelta | None
    """Until one new try is due."""


def contest(node: NodeView, record: SharingRecord, pool_label: str, policy: SlicingPolicy, now: datetime) -> Contest:
    """How the fight stands. The count stops at the limit, so that a node that was given up on is a still picture."""
    name, old = who(node, pool_label), record.contender
    if old is None:
        first = Contender(name, 1, now)
        return Contest(first, policy.contest_limit <= 1, policy.contest_window)
    age = now - old.since
    if age >= policy.contest_window or -age > policy.contest_window:
        return Contest(Contender(name, 1, now), stopped=False, again_in=None)
    count = min(old.count + 1, max(1, policy.contest_limit))
    return Contest(Contender(name, count, old.since), count >= policy.contest_limit, policy.contest_window - age)


def adopted(record: SharingRecord, wanted: str) -> SharingRecord:
    """Where the label of a node whose label we have written before says what is wanted, it is ours again."""
    return record if record.profile in (None, wanted) else replace(record, profile=wanted)


def _possible(rules: Sequence[SlicingRule]) -> set[str]:
    """Every profile that the rules can lead to."""
    return {profile for rule in rules for profile in _of_rule(rule)}


def _of_rule(rule: SlicingRule) -> Iterator[str]:
    match rule.wanted:
        case Exclusive():
            yield EXCLUSIVE
        case Replicas(count):
            yield profile_name(count)
        case MemoryPerSlice(most=most):
            yield EXCLUSIVE
            yield from (profile_name(count) for count in range(LEAST_REPLICAS, most + 1))
        case Named(profile):
            yield profile
        case _:
            assert_never(rule.wanted)
