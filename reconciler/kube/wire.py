"""Which bytes of Kubernetes objects become anything at all? Only these fields; msgspec skips all others unread.

Everything but a name may be null or absent: the API server writes nulls where Go has nil (a bookmark's containers, an
empty taint list), and one such object must not stop a page of five hundred.
"""

from typing import Generic, Protocol, TypeVar

from msgspec import Raw, Struct, field

from reconciler.model import names

ABSENT = Raw(b"")
Number = str | int | float
"""Kubernetes writes quantities as texts; people and other tools also write numbers."""


class Meta(Struct, rename="camel", gc=False):
    """What every object has."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class HasMeta(Protocol):
    @property
    def metadata(self) -> Meta: ...


W = TypeVar("W")


class EventOf(Struct, Generic[W], gc=False):
    """One line of a watch."""

    type: str
    object: W


class ListMeta(Struct, rename="camel", gc=False):
    resource_version: str | None = None
    cont: str | None = field(default=None, name="continue")


class PageOf(Struct, Generic[W], gc=False):
    """One page of a list."""

    metadata: ListMeta = field(default_factory=ListMeta)
    items: list[W] | None = None


class BookmarkMeta(Struct, rename="camel", gc=False):
    resource_version: str | None = None
    annotations: dict[str, str] | None = None


class Bookmark(Struct, gc=False):
    metadata: BookmarkMeta


class NodeAnnotations(Struct, gc=False):
    record: str | None = field(default=None, name=names.RECORD)
    sharing_record: str | None = field(default=None, name=names.SHARING_RECORD)
    verified: str | None = field(default=None, name=names.VERIFIED)


class NodeMeta(Meta, rename="camel"):
    labels: dict[str, str | None] | None = None
    annotations: NodeAnnotations | None = None
    managed_fields: Raw = ABSENT
    """Read by kube/managed_fields.py, and only where it is asked for: it is a fifth of a node's bytes."""


class TaintWire(Struct, rename="camel", gc=False):
    key: str | None = None
    effect: str | None = None
    value: str | None = None
    time_added: str | None = None


class NodeSpec(Struct, gc=False):
    provider_id: str | None = field(default=None, name="providerID")
    unschedulable: bool | None = None
    taints: list[TaintWire] | None = None


class ConditionWire(Struct, rename="camel", gc=False):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class NodeInfo(Struct, gc=False):
    boot_id: str | None = field(default=None, name="bootID")
    os_image: str | None = field(default=None, name="osImage")


class NodeStatus(Struct, rename="camel", gc=False):
    capacity: Raw = ABSENT
    allocatable: Raw = ABSENT
    conditions: list[ConditionWire] | None = None
    node_info: NodeInfo | None = None


class NodeWire(Struct, gc=False):
    metadata: NodeMeta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class ContainerWire(Struct, rename="camel", gc=False):
    resources: Raw = ABSENT
    restart_policy: str | None = None


class ResourcesWire(Struct, gc=False):
    requests: dict[str, Number | None] | None = None
    limits: dict[str, Number | None] | None = None


class PodSpec(Struct, rename="camel", gc=False):
    node_name: str | None = None
    containers: list[ContainerWire] | None = None
    init_containers: list[ContainerWire] | None = None
    overhead: Raw = ABSENT
    resources: Raw = ABSENT
    """Pod-level requests: they stand in for the containers' sum of cpu and memory."""


class PodStatus(Struct, gc=False):
    phase: str | None = None


class PodWire(Struct, gc=False):
    metadata: Meta
    spec: PodSpec | None = None
    status: PodStatus | None = None


class ClaimMeta(Meta):
    labels: dict[str, str | None] | None = None


class Requirement(Struct, gc=False):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class ClaimResources(Struct, gc=False):
    requests: dict[str, Number | None] | None = None


class ClaimSpec(Struct, gc=False):
    requirements: list[Requirement] | None = None
    resources: ClaimResources | None = None


class ClaimStatus(Struct, rename="camel", gc=False):
    node_name: str | None = None
    conditions: list[ConditionWire] | None = None
    capacity: dict[str, Number | None] | None = None


class ClaimWire(Struct, gc=False):
    metadata: ClaimMeta
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


class ConfigMapWire(Struct, gc=False):
    metadata: Meta
    data: dict[str, str | None] | None = None
