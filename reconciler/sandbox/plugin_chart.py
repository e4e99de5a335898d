"""What does NVIDIA's chart put into a cluster? One DaemonSet, and the ConfigMap with the plugin's configs.

Names, environment and order of the containers are those of k8s-device-plugin v0.20.0, deployments/helm (the chart), and
of gpu-operator's assets/state-device-plugin (the operator).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.plugin_script import CONFIG_LABEL, PRESENT_LABEL

IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
_TOLERATED: tuple[Json, ...] = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)


def sliced(replicas: int, **sharing: object) -> str:
    """A config that makes so many of each GPU."""
    more = "".join(f"    {key}: {str(value).lower()}\n" for key, value in sharing.items())
    entry = f"    resources:\n    - name: nvidia.com/gpu\n      replicas: {replicas}\n"
    return f"version: v1\nsharing:\n  timeSlicing:\n{more}{entry}"


EXCLUSIVE = "version: v1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChart:
    """The values of an installation. `configs` is `config.map`: None installs no config-manager.

    `external`: the ConfigMap is somebody else's (`config.name`), and not made. `operator`: as the GPU Operator does it.
    """

    configs: Mapping[str, str] | None = field(default_factory=lambda: {"default": EXCLUSIVE, "ts-4": sliced(4)})
    default: str = ""
    fallbacks: tuple[str, ...] = ("named", "single")
    namespace: str = "nvidia-device-plugin"
    external: str = ""
    operator: bool = False
    tolerations: tuple[Json, ...] = _TOLERATED

    @property
    def name(self) -> str:
        return "nvidia-device-plugin-daemonset" if self.operator else "nvidia-device-plugin"

    @property
    def config_map(self) -> str:
        """The ConfigMap's name; empty without one."""
        return self.external or ("" if self.configs is None else f"{self.name}-configs")

    @property
    def labels(self) -> dict[str, str]:
        """By them the pods are known."""
        if self.operator:
            return {"app": "nvidia-device-plugin-daemonset"}
        return {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvidia-device-plugin"}

    def daemon_set(self) -> Json:
        return {
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels},
            "spec": {
                "selector": {"matchLabels": self.labels},
                "updateStrategy": {"type": "RollingUpdate"},
                "template": {"metadata": {"labels": self.labels}, "spec": self._pod()},
            },
        }

    def _pod(self) -> Json:
        plugin: Json = {"image": IMAGE, "name": "nvidia-device-plugin-ctr", "command": ["nvidia-device-plugin"]}
        plugin["env"] = [{"name": "MPS_ROOT", "value": "/run/nvidia/mps"}]
        pod: Json = {
            "priorityClassName": "system-node-critical",
            "serviceAccountName": "nvidia-device-plugin-service-account",
            "containers": [plugin],
            "tolerations": list(self.tolerations),
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _GPU_NODES}},
        }
        if self.config_map:
            plugin["env"].append({"name": "CONFIG_FILE", "value": "/config/config.yaml"})
            plugin["volumeMounts"] = _MOUNTS
            pod["shareProcessNamespace"] = True
            pod["initContainers"] = [self._config_manager("nvidia-device-plugin-init", once=True)]
            pod["containers"].insert(0, self._config_manager("nvidia-device-plugin-sidecar", once=False))
            pod["volumes"] = [
                {"name": "available-configs", "configMap": {"name": self.config_map}},
                {"name": "config", "emptyDir": {}},
            ]
        return pod

    def _config_manager(self, name: str, *, once: bool) -> Json:
        env = {
            "ONESHOT": str(once).lower(),
            "KUBECONFIG": "",
            "NODE_LABEL": CONFIG_LABEL,
            "CONFIG_FILE_SRCDIR": "/available-configs",
            "CONFIG_FILE_DST": "/config/config.yaml",
            "DEFAULT_CONFIG": self.default,
            "FALLBACK_STRATEGIES": ",".join(self.fallbacks),
            "SEND_SIGNAL": str(not once).lower(),
            "SIGNAL": "" if once else "1",
            "PROCESS_TO_SIGNAL": "" if once else "nvidia-device-plugin",
        }
        node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
        plain = [{"name": key, "value": value} for key, value in env.items()]
        return {
            "image": IMAGE,
            "name": name,
            "command": ["config-manager"],
            "env": [*plain, node],
            "volumeMounts": _MOUNTS,
        }


_MOUNTS = [
    {"name": "available-configs", "mountPath": "/available-configs"},
    {"name": "config", "mountPath": "/config"},
]
_GPU_NODES: Json = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
        for key, value in (
            ("feature.node.kubernetes.io/pci-10de.present", "true"),
            ("feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA"),
            (PRESENT_LABEL, "true"),
        )
    ]
}
