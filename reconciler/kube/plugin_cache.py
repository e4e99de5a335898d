"""What is known of the device plugin? Its ConfigMap, and its pods by node."""

from collections.abc import Callable
from datetime import UTC, datetime

from reconciler.kube.cache import Mirror
from reconciler.model.node import NodeName
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig

_NEVER = datetime.min.replace(tzinfo=UTC)


class PluginCache:
    """Sinks are `configs.take` and `pods.take`.

    `changed` gets the node of each plugin pod that looks different; `config_changed` is called when the ConfigMap
    does, which matters to every node.
    """

    def __init__(
        self,
        changed: Callable[[NodeName], None] = lambda name: None,
        config_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.may_read: Callable[[], bool] = lambda: True
        """Whether the ConfigMap may be read at all, by whoever watches it."""
        self.configs: Mirror[PluginConfig] = Mirror()
        self.pods: Mirror[PluginPod] = Mirror()
        self.configs.on_change(lambda before, after: config_changed())
        self.pods.on_change(self._index)
        self._changed = changed
        self._pods_on: dict[NodeName, dict[str, PluginPod]] = {}

    @property
    def config(self) -> PluginConfig | None:
        """None: there is no such ConfigMap, or we may not read it."""
        return next(iter(self.configs.views()), None)

    @property
    def readable(self) -> bool:
        return self.may_read()

    def on_node(self, node: NodeName) -> tuple[PluginPod, ...]:
        """The plugin's pods on the node, newest last; two for a moment while one replaces another."""
        pods = self._pods_on.get(node, {}).values()
        return tuple(sorted(pods, key=lambda pod: (pod.started or _NEVER, pod.ref.name)))

    def _index(self, before: PluginPod | None, after: PluginPod | None) -> None:
        touched = set()
        if before is not None:
            here = self._pods_on.get(before.node, {})
            here.pop(before.ref.uid, None)
            if not here:
                self._pods_on.pop(before.node, None)
            touched.add(before.node)
        if after is not None:
            self._pods_on.setdefault(after.node, {})[after.ref.uid] = after
            touched.add(after.node)
        for node in sorted(touched):
            self._changed(node)
