"""What do nodes and node claims say, in our words? Wire structs become views; odd fields are told and stepped over."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from reconciler.kube.managed_fields import writer_of_profile
from reconciler.kube.shared_bytes import Shared
from reconciler.kube.wire import ClaimSpec, ClaimStatus, ClaimWire, ConditionWire, NodeWire, Number, TaintWire
from reconciler.model import names, quantity, record, sharing_record, verification_record
from reconciler.model.node import (
    Condition,
    InstanceType,
    NodeClaimView,
    NodeKey,
    NodeName,
    NodeView,
    Resources,
    Taint,
)

Odd = Callable[[str], None]
"""Takes a sentence about one field of the object at hand."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for a time that is missing or unreadable."""

_OF_CLAIMS = (names.KARPENTER_CLAIM_INITIALIZED, names.KARPENTER_CLAIM_CONSISTENT)

_AMOUNTS = msgspec.json.Decoder(dict[str, Number | None] | None)

_amount = lru_cache(maxsize=4096)(quantity.of_resource)
"""Pods that share no template still ask for the same few amounts, and exact arithmetic is slow."""


def amounts_of(texts: Mapping[str, Number | None] | None, odd: Odd, where: str) -> Resources:
    """Resource amounts in our units. A resource whose quantity cannot be read is told and left out."""
    amounts = {}
    for name, text in (texts or {}).items():
        if text is None:
            continue
        try:
            amounts[sys.intern(name)] = _amount(name, str(text))
        except (quantity.QuantityError, ArithmeticError) as error:
            odd(f"{where}.{name}: {error}; the resource is left out")
    return amounts


def moment(text: str | None, odd: Odd, where: str) -> datetime:
    """An RFC 3339 time; EPOCH where there is none."""
    if not text:
        return EPOCH
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        odd(f"{where} is {text!r}, which is no time; 1970 is taken instead")
        return EPOCH
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


class NodeParser:
    """Makes NodeViews; nodes of one type share their resource tables."""

    def __init__(self) -> None:
        self._odd: Odd = lambda why: None
        self._amounts = Shared(self._decode_amounts)

    def __call__(self, wire: NodeWire, odd: Odd) -> NodeView:
        self._odd = odd
        meta, spec, status = wire.metadata, wire.spec, wire.status
        labels = {sys.intern(key): sys.intern(value or "") for key, value in (meta.labels or {}).items()}
        conditions = (status.conditions if status is not None else None) or ()
        info = status.node_info if status is not None else None
        ready, memory, sharing = False, None, None
        for one in conditions:
            match one.type:
                case "Ready":
                    ready = ready or one.status == "True"
                case names.CONDITION:
                    memory = memory or _condition(one, odd)
                case names.SHARING_CONDITION:
                    sharing = sharing or _condition(one, odd)
                case _:
                    pass
        notes = meta.annotations
        text = notes.record if notes is not None else None
        sharing_text = notes.sharing_record if notes is not None else None
        verified = notes.verified if notes is not None else None
        kind = labels.get(names.LABEL_INSTANCE_TYPE) or labels.get(names.LABEL_INSTANCE_TYPE_BETA)
        return NodeView(
            key=NodeKey(NodeName(meta.name), meta.uid or ""),
            instance_type=InstanceType(kind) if kind else None,
            boot_id=(info.boot_id if info is not None else None) or "",
            ready=ready,
            created=moment(meta.creation_timestamp, odd, "metadata.creationTimestamp"),
            labels=labels,
            taints=tuple(_taint(taint) for taint in (spec.taints if spec is not None else None) or ()),
            capacity=self._amounts.get(bytes(status.capacity)) if status is not None else {},
            allocatable=self._amounts.get(bytes(status.allocatable)) if status is not None else {},
            condition=memory,
            record=record.parse(text) if text is not None else None,
            sharing_condition=sharing,
            sharing_record=sharing_record.parse(sharing_text) if sharing_text is not None else None,
            verified=verification_record.parse(verified) if verified is not None else None,
            profile_writer=writer_of_profile(meta.managed_fields) if names.PLUGIN_CONFIG in labels else "",
            provider_id=(spec.provider_id if spec is not None else None) or "",
            os_image=sys.intern((info.os_image if info is not None else None) or ""),
            unschedulable=bool(spec is not None and spec.unschedulable),
            deleting=meta.deletion_timestamp is not None,
            resource_version=meta.resource_version or "",
        )

    def _decode_amounts(self, raw: bytes) -> Resources:
        if not raw:
            return {}
        try:
            return amounts_of(_AMOUNTS.decode(raw), self._odd, "status.capacity or status.allocatable")
        except msgspec.ValidationError as error:
            self._odd(f"status.capacity or status.allocatable: {error}; no resource is taken from it")
            return {}


def _taint(wire: TaintWire) -> Taint:
    return Taint(wire.key or "", wire.effect or "", wire.value, wire.time_added)


def _condition(wire: ConditionWire, odd: Odd) -> Condition:
    return Condition(
        type=wire.type or "",
        status=wire.status or "Unknown",
        reason=wire.reason or "",
        message=wire.message or "",
        since=moment(wire.last_transition_time, odd, f"status.conditions[{wire.type}].lastTransitionTime"),
    )


def node_claim(wire: ClaimWire, odd: Odd) -> NodeClaimView:
    """A NodeClaim. Before Karpenter has chosen, the type is known only where the requirements leave one choice."""
    spec, status = wire.spec or ClaimSpec(), wire.status or ClaimStatus()
    kind = (wire.metadata.labels or {}).get(names.LABEL_INSTANCE_TYPE)
    if not kind:
        for one in spec.requirements or ():
            if one.key == names.LABEL_INSTANCE_TYPE and one.operator == "In" and len(one.values or ()) == 1:
                kind = (one.values or [""])[0]
    found = {one.type: _condition(one, odd) for one in status.conditions or () if one.type in _OF_CLAIMS}
    return NodeClaimView(
        name=wire.metadata.name,
        instance_type=InstanceType(kind) if kind else None,
        node=NodeName(status.node_name) if status.node_name else None,
        initialized=found.get(names.KARPENTER_CLAIM_INITIALIZED),
        consistent=found.get(names.KARPENTER_CLAIM_CONSISTENT),
        requests=amounts_of(spec.resources.requests if spec.resources is not None else None, odd, "spec.resources"),
        capacity=amounts_of(status.capacity, odd, "status.capacity"),
    )
