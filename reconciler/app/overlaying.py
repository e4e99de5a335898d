"""Which overlays should stand? Asked once, of a live cluster or of a file; nothing is written."""

import random
from dataclasses import replace

import anyio

from reconciler.app.process import NotInTime, SystemClock
from reconciler.app.shipped import shipped_profiles
from reconciler.app.wishes import wishes
from reconciler.aws.builtin import builtin
from reconciler.controllers.overlays import Overlays
from reconciler.decide import overlays
from reconciler.decide.expected import TypeFacts, least_seen
from reconciler.decide.overlay_facts import OverlayFacts, refusals
from reconciler.kube import catalog_config_map, node_pools, sources
from reconciler.kube import overlays as node_overlays
from reconciler.kube.cache import NodeCache
from reconciler.kube.catalog import CatalogStore
from reconciler.kube.connection import connect
from reconciler.kube.node_pools import NodePoolCache
from reconciler.kube.overlay_offline import OverlayDump
from reconciler.kube.overlays import OverlayCache
from reconciler.kube.plugin_cache import PluginCache
from reconciler.kube.plugin_place import PluginPlace
from reconciler.kube.trouble import Report
from reconciler.kube.watches import Watches
from reconciler.model.overlay import OverlayPlan, OverlayPolicy
from reconciler.model.sharing import PluginConfig
from reconciler.runtime.backoff import Backoff
from reconciler.runtime.transport import Transport
from reconciler.settings.karpenter import overlay_policy
from reconciler.settings.root import Settings


class _Unseen:
    """Nobody watches this single look."""

    def overlays(self, plan: OverlayPlan) -> None:
        return


async def of_cluster(settings: Settings, report: Report, *, slices: bool | None, within: float) -> OverlayPlan:
    """The plan by what the cluster says now. Raises NotInTime."""
    async with connect(settings.kubernetes.kubeconfig, settings.kubernetes.context) as transport:
        look = _Look(settings, transport, report, policy(settings, slices))
        async with anyio.create_task_group() as group:
            with anyio.move_on_after(within):
                await group.start(look.watches.watch)
            unread = look.watches.unsynced
            group.cancel_scope.cancel()
        if unread:
            raise NotInTime(within, unread)
        return look.loop.decide()


def of_dump(dump: OverlayDump, settings: Settings, *, slices: bool | None) -> OverlayPlan:
    """The plan by what a file says and the built-in table: EC2 counts as never asked, our profiles as installed."""
    table, wished = builtin(), wishes(settings).policy
    seen = least_seen(dump.nodes, wished.capacity.resource)
    kinds = [row.figure.instance_type for row in table]
    facts = OverlayFacts(
        pools=tuple(dump.pools),
        overlays=tuple(dump.overlays),
        types={kind: TypeFacts(None, table.answer(kind), None, seen.get(kind)) for kind in kinds},
        plugin=PluginConfig(shipped_profiles()),
        refusals=refusals(dump.nodes),
    )
    now = SystemClock().now()
    return overlays.decide(facts, wished.capacity, wished.slicing, policy(settings, slices), now)


def policy(settings: Settings, slices: bool | None) -> OverlayPolicy:
    """`slices`: what the command line says, instead of the setting."""
    found = overlay_policy(settings.karpenter)
    return found if slices is None else replace(found, slices=slices)


class _Look:
    """Caches and watches for one look at a cluster."""

    def __init__(self, settings: Settings, transport: Transport, report: Report, policy: OverlayPolicy) -> None:
        wished, table, clock = wishes(settings), builtin(), SystemClock()
        backoff = Backoff(random.Random().random, wished.first_retry, wished.longest_retry)
        pools, found, nodes, plugins = NodePoolCache(), OverlayCache(), NodeCache(), PluginCache()
        catalog = CatalogStore(
            transport,
            namespace=wished.namespace,
            may_write=None,
            clock=clock,
            report=report,
            builtin=table.answer,
            row=table.beside,
        )

        self.watches = Watches(transport, backoff=backoff, report=report, pace=wished.pace)
        self.watches.add(catalog_config_map.source(report, wished.namespace), catalog.take)
        of_pools = self.watches.add(node_pools.source(report), pools.take)
        of_overlays = self.watches.add(node_overlays.source(report), found.take)
        self.watches.add(sources.nodes(report), nodes.take)
        if policy.slices:
            place = PluginPlace.of(wished.policy.slicing.config_map, wished.plugin_selector)
            config = sources.plugin_config_map(report, place.namespace, place.config_map)
            self.watches.add(config, plugins.configs.take)
        self.loop = Overlays(
            pools=pools,
            overlays=found,
            nodes=nodes,
            catalog=catalog,
            table=[row.figure.instance_type for row in table],
            plugins=plugins,
            pools_known=lambda: not of_pools.absent,
            overlays_known=lambda: not of_overlays.absent,
            actuator=None,
            observer=_Unseen(),
            wanted=lambda key: None,
            memory=wished.policy.capacity,
            slicing=wished.policy.slicing,
            policy=policy,
            clock=clock,
        )
