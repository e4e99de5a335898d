"""What does NVIDIA's chart put into a cluster? One DaemonSet, and the ConfigMap with the plugin's configs.

Names, environment and order of the containers are those of k8s-device-plugin v0.20.0 (deployments/helm), or of the
GPU Operator (assets/state-device-plugin), less the volumes and variables that tell of drivers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.sandbox.encoding import Json
from reconciler.sandbox.plugin_script import CONFIG_LABEL, PRESENT_LABEL

IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
TOLERATIONS: tuple[Json, ...] = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)
"""The chart's own. It tolerates nobody's startup taint."""
DEPLOY_LABEL = "nvidia.com/gpu.deploy.device-plugin"
"""By it the GPU Operator's DaemonSet finds nodes."""
EXCLUSIVE = "version: v1\n"


def sliced(replicas: int, *, strategy: str = "timeSlicing", **sharing: bool) -> str:
    """A config that makes so many of each GPU, with switches as the plugin spells them (renameByDefault ...)."""
    switches = "".join(f"    {key}: {str(value).lower()}\n" for key, value in sharing.items())
    entry = f"    resources:\n    - name: nvidia.com/gpu\n      replicas: {replicas}\n"
    return f"version: v1\nsharing:\n  {strategy}:\n{switches}{entry}"


@dataclass(frozen=True, slots=True)
class _Flavour:
    """What the two installations call things."""

    daemon_set: str
    labels: Mapping[str, str]
    account: str
    init: str
    sidecar: str
    plugin: str
    command: tuple[str, ...]


CHART = _Flavour(
    "nvidia-device-plugin",
    {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvidia-device-plugin"},
    "nvidia-device-plugin-service-account",
    "nvidia-device-plugin-init",
    "nvidia-device-plugin-sidecar",
    "nvidia-device-plugin-ctr",
    ("nvidia-device-plugin",),
)
OPERATOR = _Flavour(
    "nvidia-device-plugin-daemonset",
    {"app": "nvidia-device-plugin-daemonset"},
    "nvidia-device-plugin",
    "config-manager-init",
    "config-manager",
    "nvidia-device-plugin",
    ("/bin/sh", "-c", "/bin/entrypoint.sh"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChart:
    """The values of an installation. `configs` is `config.map`: None installs no config-manager.

    `external` is `config.name`: the name of somebody else's ConfigMap, which is not made. `fallbacks` are the chart's;
    the operator's config-manager has none.
    """

    configs: Mapping[str, str] | None = field(
        default_factory=lambda: {"exclusive": EXCLUSIVE, "ts-2": sliced(2), "ts-4": sliced(4)}
    )
    default: str = "exclusive"
    fallbacks: tuple[str, ...] = ("named", "single")
    external: str = ""
    flavour: _Flavour = CHART
    namespace: str = "nvidia-device-plugin"
    tolerations: tuple[Json, ...] = TOLERATIONS

    @property
    def name(self) -> str:
        """The DaemonSet's."""
        return self.flavour.daemon_set

    @property
    def config_map(self) -> str:
        """The ConfigMap's name; empty without one."""
        return self.external or ("" if self.configs is None else f"{self.name}-configs")

    def daemon_set(self) -> Json:
        labels = dict(self.flavour.labels)
        return {
            "kind": "DaemonSet",
            "apiVersion": "apps/v1",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "updateStrategy": {"type": "RollingUpdate"},
                "template": {"metadata": {"labels": labels}, "spec": self._pod()},
            },
        }

    def _pod(self) -> Json:
        pod: Json = {
            "priorityClassName": "system-node-critical",
            "serviceAccountName": self.flavour.account,
            "containers": [self._plugin()],
            "tolerations": list(self.tolerations),
        }
        if self.flavour == OPERATOR:
            pod["nodeSelector"] = {DEPLOY_LABEL: "true"}
        else:
            pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _GPU_NODES}}
        if self.config_map:
            pod["shareProcessNamespace"] = True
            pod["initContainers"] = [self._config_manager(self.flavour.init, once=True)]
            place = 1 if self.flavour == OPERATOR else 0
            pod["containers"].insert(place, self._config_manager(self.flavour.sidecar, once=False))
            pod["volumes"] = [
                {"name": "available-configs", "configMap": {"name": self.config_map}},
                {"name": "config", "emptyDir": {}},
            ]
        return pod

    def _plugin(self) -> Json:
        env = {"MPS_ROOT": "/run/nvidia/mps", **({"CONFIG_FILE": "/config/config.yaml"} if self.config_map else {})}
        return self._container(self.flavour.plugin, self.flavour.command, env)

    def _config_manager(self, name: str, *, once: bool) -> Json:
        chosen = {"FALLBACK_STRATEGIES": ",".join(self.fallbacks)} if self.flavour == CHART else {}
        env = {
            "ONESHOT": str(once).lower(),
            "KUBECONFIG": "",
            "NODE_LABEL": CONFIG_LABEL,
            "CONFIG_FILE_SRCDIR": "/available-configs",
            "CONFIG_FILE_DST": "/config/config.yaml",
            "DEFAULT_CONFIG": self.default,
            **chosen,
            "SEND_SIGNAL": str(not once).lower(),
            "SIGNAL": "" if once else "1",
            "PROCESS_TO_SIGNAL": "" if once else "nvidia-device-plugin",
        }
        container = self._container(name, ("config-manager",), env)
        container["env"].append({"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
        return container

    def _container(self, name: str, command: tuple[str, ...], env: Mapping[str, str]) -> Json:
        mounts = {"volumeMounts": list(_MOUNTS)} if self.config_map else {}
        plain = [{"name": key, "value": value} for key, value in env.items()]
        return {"image": IMAGE, "name": name, "command": list(command), "env": plain, **mounts}


_MOUNTS = (
    {"name": "available-configs", "mountPath": "/available-configs"},
    {"name": "config", "mountPath": "/config"},
)
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
