"""What machine does a kubelet run on? Its size, labels, devices, and how it behaves when it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.plugin_script import GPU, PRESENT_LABEL, PluginScript


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The default is a g4dn.xlarge as EC2 makes it.

    `devices` is what device plugins advertise, `device_delay` and `ready_delay` how many seconds after the kubelet's
    start that, and the Ready condition, come. `zeroes_at_registration` is the kubelet that lost its device checkpoint:
    it sets every extended resource of a Node that is already there to 0. `env` is what the host adds to containers
    that are really run. Taints read `key=value:Effect`.
    """

    labels: Mapping[str, str] = field(
        default_factory=lambda: {
            "node.kubernetes.io/instance-type": "g4dn.xlarge",
            "topology.kubernetes.io/region": "eu-west-1",
            "topology.kubernetes.io/zone": "eu-west-1a",
        }
    )
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    devices: Mapping[str, int] = field(default_factory=lambda: {"nvidia.com/gpu": 1})
    device_delay: float = 5.0
    ready_delay: float = 1.0
    cpu: str = "4"
    memory: str = "16Gi"
    max_pods: int = 29
    provider_id: str = "aws:///eu-west-1a/i-0123456789abcdef0"
    boot_id: str = "2b5b8f9a-0000-4000-8000-000000000001"
    os_image: str = "Amazon Linux 2023.9.20260101"
    zeroes_at_registration: bool = False
    sync_every: float = 10.0
    lease_every: float = 10.0
    env: Mapping[str, str] = field(default_factory=dict)
    plugin: PluginScript | None = None

    @property
    def gpus(self) -> int:
        """How many GPUs are built in."""
        return self.devices.get(GPU, 0)

    @property
    def fixed_devices(self) -> dict[str, int]:
        """What is advertised without any plugin's pod."""
        return {name: count for name, count in self.devices.items() if self.plugin is None or name != GPU}

    @property
    def first_labels(self) -> dict[str, str]:
        """The labels that the kubelet registers the node with."""
        found = self.plugin is not None and self.plugin.labelled
        return {**({PRESENT_LABEL: "true"} if found else {}), **self.labels}

    @property
    def capacity(self) -> dict[str, str]:
        """What the kubelet itself knows of, devices left out."""
        return {"cpu": self.cpu, "ephemeral-storage": "80Gi", "memory": self.memory, "pods": str(self.max_pods)}

    def taint_objects(self) -> list[Json]:
        """The taints as they stand in a Node's spec."""
        taints = []
        for text in self.taints:
            pair, _, effect = text.rpartition(":")
            key, _, value = pair.partition("=")
            taints.append({"key": key, "effect": effect} | ({"value": value} if value else {}))
        return taints
