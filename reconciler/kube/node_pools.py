"""What do NodePools say, in our words?"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from reconciler.kube.cache import Mirror
from reconciler.kube.parse import Odd
from reconciler.kube.reader import Reader, by_name
from reconciler.kube.sources import Source
from reconciler.kube.trouble import Report
from reconciler.kube.wire import Meta, Requirement
from reconciler.model import node_pool
from reconciler.model.node_pool import NodePoolView

PATH = "/apis/karpenter.sh/v1/nodepools"


class TemplateMeta(Struct, gc=False):
    labels: dict[str, str | None] | None = None


class NodeClassRef(Struct, gc=False):
    group: str | None = None


class TemplateSpec(Struct, rename="camel", gc=False):
    requirements: list[Requirement] | None = None
    node_class_ref: NodeClassRef | None = None


class Template(Struct, gc=False):
    metadata: TemplateMeta | None = None
    spec: TemplateSpec | None = None


class PoolSpec(Struct, gc=False):
    template: Template = field(default_factory=Template)


class NodePoolWire(Struct, gc=False):
    metadata: Meta
    spec: PoolSpec | None = None


def source(report: Report) -> Source[NodePoolView]:
    """Optional: without Karpenter there are none."""
    return Source(PATH, Reader("NodePool", NodePoolWire, parse, by_name, report), optional=True)


def parse(wire: NodePoolWire, odd: Odd) -> NodePoolView:
    template = wire.spec.template if wire.spec is not None else Template()
    spec = template.spec or TemplateSpec()
    labels = (template.metadata.labels if template.metadata is not None else None) or {}
    return NodePoolView(
        name=wire.metadata.name,
        requirements=requirements(spec.requirements or (), odd, "spec.template.spec.requirements"),
        labels={key: value or "" for key, value in labels.items()},
        node_class_group=(spec.node_class_ref.group if spec.node_class_ref is not None else None) or "",
        deleting=wire.metadata.deletion_timestamp is not None,
    )


def requirements(wire: Sequence[Requirement], odd: Odd, where: str) -> tuple[node_pool.Requirement, ...]:
    """Those that name a label; the API server lets no other in."""
    found = []
    for one in wire:
        if not one.key or not one.operator:
            odd(f"{where} has one without key or operator; it is left out")
            continue
        found.append(node_pool.Requirement(one.key, one.operator, tuple(one.values or ())))
    return tuple(found)


class NodePoolCache(Mirror[NodePoolView]):
    """NodePools by name. `changed` is called for each that looks different, is new, or is gone."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.on_change(lambda before, after: changed())

    def get(self, name: str) -> NodePoolView | None:
        return self._views.get(name)

    def labels(self, name: str) -> Mapping[str, str]:
        """Of the template; empty where there is no such NodePool."""
        found = self.get(name)
        return found.labels if found is not None else {}
