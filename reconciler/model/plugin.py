"""What can be seen of the device plugin on a node? The evidence for why it does not follow."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.model.node import NodeName
from reconciler.model.workload import PodRef


@dataclass(frozen=True, slots=True)
class PluginPod:
    """The device plugin's pod on one node."""

    ref: PodRef
    node: NodeName
    started: datetime | None = None
    """When the kubelet took it up: what it mounts is at least that new."""
    ready: bool = False
    config_manager: bool = False
    """Whether it has the sidecar that follows the label; the charts add it only with a ConfigMap."""
    manager_failing: str = ""
    """Why the config-manager does not run, as reason and message of the kubelet; empty where it never failed."""
    manager_again: datetime | None = None
    """When it was started again after that; None: it does not run, or never failed."""
    plugin_failing: str = ""
    """The same of the other containers, and of a pod that cannot start."""
    plugin_again: datetime | None = None
    """When the last of those that failed was started again."""
    ready_since: datetime | None = None
    """Since when it is ready; None: it is not, or that is not told."""
