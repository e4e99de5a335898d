"""What is known of one node's sharing at one moment? The argument list of every decision on it."""

from dataclasses import dataclass

from reconciler.decide.verdict import Verdict
from reconciler.model.node import NodeView
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig


@dataclass(frozen=True, slots=True)
class SharingFacts:
    node: NodeView
    memory: Verdict
    """What was decided on the node's memory: its GPUs' number, model and advertised MiB."""
    settled: bool
    """Whether the memory's figure will not change by itself any more: no provisional one, and no probe runs."""
    plugin: PluginConfig | None
    """The device plugin's ConfigMap; None: there is none."""
    pods: tuple[PluginPod, ...]
    """The device plugin's pods on this node, newest last."""
    held: int
    """How many GPUs and slices the node's running pods hold."""
    pool_label: str = ""
    """What the template of the node's NodePool sets as the plugin's config label; empty: nothing, or no NodePool."""
    plugin_readable: bool = True
    """Whether the ConfigMap may be read; where not, `plugin` is None."""

    @property
    def pod(self) -> PluginPod | None:
        """The plugin's pod that counts: while one replaces another there are two."""
        return self.pods[-1] if self.pods else None
