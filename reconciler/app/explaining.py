"""What would be done about these nodes, and why? From the caches of a live cluster, or from a file without any."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from reconciler.app.controller import Controller
from reconciler.app.shipped import shipped_profiles
from reconciler.decide.explanation import Explanation, explain
from reconciler.decide.facts import CapacityFacts
from reconciler.decide.limits import PODS, Load
from reconciler.decide.node import NodeFacts, NodePolicy
from reconciler.kube.cache import PodCache
from reconciler.kube.news import Seen
from reconciler.kube.offline import Dump
from reconciler.model import names, quantity
from reconciler.model.gpu import SpecAnswer, SpecUnknown
from reconciler.model.node import InstanceType, NodeName, NodeView, Resources
from reconciler.model.plan import Learn
from reconciler.model.probe_state import NotProbed
from reconciler.model.sharing import PluginConfig

DEFAULT_SIZE = 1024 * quantity.MIB
"""Bytes of the memory resource that a pod is taken to ask for where none on the node says otherwise."""


def from_cluster(
    controller: Controller, policy: NodePolicy, now: datetime, pod: Resources | None
) -> Sequence[Explanation]:
    """Every node of the cluster, by name."""
    return [
        _explain(controller.gpus.facts(node), policy, now, controller.pods, pod)
        for node in sorted(controller.nodes.all(), key=lambda node: node.name)
    ]


def from_dump(
    dump: Dump,
    builtin: Callable[[InstanceType], SpecAnswer],
    policy: NodePolicy,
    now: datetime,
    pod: Resources | None,
) -> Sequence[Explanation]:
    """Every node of the file, by name: with the built-in table, and what the nodes' own records say.

    Where the table knows the type, EC2 counts as not asked yet: then what EC2 said before, in the record, still counts.
    """
    pods = PodCache(gpu_resource=policy.capacity.gpu_resource)
    for view in dump.pods:
        pods.take(Seen(view.ref.uid or f"{view.ref.namespace}/{view.ref.name}", view))

    # Without any ConfigMap in the file, that of the plugin may well be in the cluster: then ours is taken to be there.
    plugin = dump.plugin_config if dump.config_maps else PluginConfig(shipped_profiles())
    labels = {pool.name: pool.labels for pool in dump.pools}
    claims = {claim.node: claim for claim in dump.claims if claim.node is not None}

    def facts(node: NodeView) -> NodeFacts:
        row = None if node.instance_type is None else builtin(node.instance_type)
        spec = row if isinstance(row, SpecUnknown) else None
        requested = pods.requested(node.name, policy.capacity.resource)
        memory = CapacityFacts(node, spec, row, learned=None, probe=NotProbed(), requested=requested)
        return NodeFacts(
            memory,
            plugin=plugin,
            plugin_pods=tuple(one for one in dump.plugin_pods if one.node == node.name),
            held=pods.held(node.name),
            pool_label=labels.get(node.labels.get(names.KARPENTER_NODEPOOL, ""), {}).get(names.PLUGIN_CONFIG, ""),
            claim=claims.get(node.name),
        )

    def explained(node: NodeView) -> Explanation:
        told = _explain(facts(node), policy, now, pods, pod)
        # What siblings taught lies in the catalog and not in the file, so nothing here is news to it.
        return replace(told, actions=tuple(action for action in told.actions if not isinstance(action, Learn)))

    return [explained(node) for node in sorted(dump.nodes, key=lambda node: node.name)]


def _explain(facts: NodeFacts, policy: NodePolicy, now: datetime, pods: PodCache, pod: Resources | None) -> Explanation:
    name = facts.memory.node.name
    load = Load(pods.totals(name), len(pods.on_node(name)))
    return explain(facts, policy, now, load=load, pod=pod or _usual(pods, name, policy.capacity.resource))


def _usual(pods: PodCache, node: NodeName, resource: str) -> Resources:
    """The size that most pods on the node have which ask for the memory resource."""
    sizes = Counter(
        tuple(sorted(pod.requests.items())) for pod in pods.on_node(node) if pod.requests.get(resource, 0) > 0
    )
    if not sizes:
        return {resource: DEFAULT_SIZE}
    [(usual, _)] = sizes.most_common(1)
    return {name: amount for name, amount in usual if name != PODS}
