"""How does the device plugin of one node behave, and what goes wrong with it? Set for a node, changed while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass

GPU = "nvidia.com/gpu"
CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""The node label that names the plugin's config."""
PRESENT_LABEL = "nvidia.com/gpu.present"
"""By it the chart's DaemonSet finds GPU nodes. EKS AL2023 sets it itself from kubelet 1.35 (nodeadm)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginScript:
    """The default does what it should. The GPUs that are there are `Machine.devices["nvidia.com/gpu"]`.

    `start_seconds` is from the plugin's start, `switch_seconds` from its SIGHUP, to its registration; in between its
    devices are not allocatable. `volume_seconds` is how often the kubelet copies the ConfigMap into pods.

    `labelled`: without it the DaemonSet does not choose the node, and no plugin runs. `lost_races`: so many of the
    node's plugin pods, from the first, take the default config before they know the label, switch right after their
    start, and end up with nothing allocatable (k8s-device-plugin #1645). `config_manager_error` and `plugin_error`:
    the program ends with status 1 and this in its log. `serves`: what the plugin registers, whatever its config says;
    an empty mapping is the plugin that found no devices and waits for ever.
    """

    start_seconds: float = 2.0
    switch_seconds: float = 2.0
    volume_seconds: float = 60.0
    labelled: bool = True
    lost_races: int = 0
    config_manager_error: str = ""
    plugin_error: str = ""
    serves: Mapping[str, int] | None = None
