"""How does a plugin's pod run on a sandbox node? Its volumes, its processes' signal, and the way to the kubelet."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from reconciler.sandbox.client import Client
from reconciler.sandbox.config_manager import Choice, config_manager
from reconciler.sandbox.device_manager import Checkpoint, DeviceManager
from reconciler.sandbox.device_plugin import device_plugin
from reconciler.sandbox.encoding import Json
from reconciler.sandbox.kinds import CONFIGMAPS
from reconciler.sandbox.mirror import Bell, Mirror
from reconciler.sandbox.plugin_script import PluginScript
from reconciler.sandbox.programs import Exit, Runtime, Waiting, Work

CONFIG_MANAGER = "config-manager"
DEVICE_PLUGIN = "nvidia-device-plugin"
"""The programs, as the containers' commands name them."""


@dataclass(slots=True)
class Volumes:
    """What the containers of one plugin pod share: the mounted ConfigMap, and /config with the link."""

    config_map: tuple[str, str] | None
    """Namespace and name; None: the chart was installed without configs."""
    loses: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    link: str | None = None
    bell: Bell = field(default_factory=Bell)
    """SIGHUP to the plugin."""

    def names(self) -> Collection[str]:
        return self.files.keys()

    @property
    def target(self) -> str | None:
        return self.link

    def point(self, name: str) -> None:
        self.link = name

    def config(self) -> str | None:
        """The file that the plugin opens; empty without configs, None where the link leads nowhere."""
        return self.files.get(self.link) if self.link else ""


class PluginHost:
    """The runtime of a node whose GPUs come from a device plugin. It outlives kubelets and pods."""

    def __init__(
        self, node: str, gpus: int, script: PluginScript, inner: Runtime, client: Client, pods: Client
    ) -> None:
        self.script = script
        self.log: list[str] = []
        """What the programs said as they ended. As on a real node it is in the pods' logs, not in their status."""
        self.checkpoint = Checkpoint()
        self._node = node
        self._gpus = gpus
        self._inner = inner
        self._pods = pods
        self._kubelet: DeviceManager | None = None
        self._served: dict[str, Sequence[str]] = {}
        self._volumes: dict[str, Volumes] = {}
        self._config_maps = Mirror(client, CONFIGMAPS, Bell())

    async def keep_volumes(self) -> None:
        """Copy ConfigMaps into pods from time to time, until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._config_maps.run)
            while True:
                await anyio.sleep(self.script.volume_seconds)
                for each in self._volumes.values():
                    each.files = self._files(each) or each.files

    def kubelet_started(self, kubelet: DeviceManager) -> None:
        """A kubelet made its socket anew: a plugin that runs begins again."""
        self._kubelet = kubelet
        self._served = {}
        for each in self._volumes.values():
            each.bell.ring()

    def kubelet_stopped(self) -> None:
        self._kubelet = None

    def serve(self, devices: Mapping[str, Sequence[str]], *, one_each: bool = False) -> None:
        self.stop()
        if self._kubelet is not None:
            self._served = dict(devices)
            for resource, ids in devices.items():
                self._kubelet.connect(resource, ids, one_each=one_each)

    def stop(self) -> None:
        if self._kubelet is not None:
            for resource in self._served:
                self._kubelet.disconnect(resource)
        self._served = {}

    def trouble(self, work: Work) -> Waiting | None:
        if _program(work) is not None and self._mounted(work.pod) is None:
            return Waiting("PodInitializing" if work.pod["spec"].get("initContainers") else "ContainerCreating")
        return self._inner.trouble(work)

    async def run(self, work: Work) -> Exit:
        volumes = None if (program := _program(work)) is None else self._mounted(work.pod)
        if volumes is None:
            return await self._inner.run(work)
        left = await self._run(program, work, volumes)
        self.log.append(f"{work.container['name']}: {left.message}")
        logged = work.container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        return left if logged else Exit(left.code)

    async def _run(self, program: str | None, work: Work, volumes: Volumes) -> Exit:
        if program == DEVICE_PLUGIN:
            return await device_plugin(
                self._gpus, volumes.config, self, volumes.bell, lambda: self.script, loses=volumes.loses
            )
        return await config_manager(
            self._node,
            Choice.of(work.env),
            volumes,
            self._pods,
            volumes.bell.ring,
            lambda: self.script.config_manager_error,
            hasty=volumes.loses,
        )

    def _mounted(self, pod: Json) -> Volumes | None:
        """The pod's volumes, made at its first container; None while the ConfigMap is not there."""
        uid = pod["metadata"]["uid"]
        if uid not in self._volumes:
            volumes = Volumes(_config_map(pod), loses=len(self._volumes) < self.script.lost_races)
            if volumes.config_map is not None:
                found = self._files(volumes)
                if found is None:
                    return None
                volumes.files = found
            self._volumes[uid] = volumes
        return self._volumes[uid]

    def _files(self, volumes: Volumes) -> Mapping[str, str] | None:
        found = None if volumes.config_map is None else self._config_maps.get(*volumes.config_map)
        return None if found is None else dict(found.get("data") or {})


def _program(work: Work) -> str | None:
    """Which of the two a container runs; the GPU Operator starts the plugin by a script."""
    words = work.words
    if words[-1:] == ["/bin/entrypoint.sh"]:
        return DEVICE_PLUGIN
    return next((word for word in words[:1] if word in (CONFIG_MANAGER, DEVICE_PLUGIN)), None)


def _config_map(pod: Json) -> tuple[str, str] | None:
    names = [each["configMap"]["name"] for each in pod["spec"].get("volumes") or [] if "configMap" in each]
    return (pod["metadata"]["namespace"], names[0]) if names else None
