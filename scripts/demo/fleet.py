"""Which machines join? One of each kind that a cluster on EKS may have, as EC2 makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reconciler.model import names
from reconciler.sandbox import nvml_double
from reconciler.sandbox.machine import Machine
from reconciler.sandbox.nvml_double import A10G, L4, L4_3Q, T4, Card
from reconciler.sandbox.plugin_script import PluginScript
from scripts.demo import pools

RECORDING = "DEMO_RECORDING"
"""The variable of a machine that names its recorded report, for runs without the NVML double."""

_GPU = {names.GPU_RESOURCE: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node of the story."""

    name: str
    kind: str
    """Its instance type."""
    cpu: int
    gib: int
    max_pods: int
    """By its network interfaces, as EKS counts: interfaces x (addresses of one - 1) + 2."""
    aside: str = ""
    """What the audience should know of it."""
    card: Card | None = None
    """The GPU whose memory is to be advertised; None: this node should advertise nothing."""
    reason: str = "Verified"
    """What the controller should say in the end."""
    open: bool = True
    """Whether the startup taint should go."""
    devices: Mapping[str, int] = field(default_factory=lambda: _GPU)
    labels: Mapping[str, str] = field(default_factory=dict)
    nvml: Mapping[str, str] = field(default_factory=dict)
    """How the NVML double is set on this machine."""
    pool: str = ""
    """The NodePool that it came of; the device plugin of such a node runs in a pod, as `plugin` says."""
    plugin: PluginScript = field(default_factory=lambda: PluginScript(start_seconds=1.0, switch_seconds=1.0))

    def machine(self, number: int, library: Path | None) -> Machine:
        """As the sandbox's kubelets take it. `library`: the NVML double, None to replay a recorded report."""
        driver = {} if library is None else {**self.nvml, "LD_LIBRARY_PATH": str(library.parent)}
        of_pool = {names.KARPENTER_NODEPOOL: self.pool, names.KARPENTER_REGISTERED: "true"} if self.pool else {}
        taints = (f"nvidia.com/gpu={self.pool.removeprefix('gpu-')}:NoSchedule",) if self.pool else ()
        return replace(
            Machine(),
            labels={**Machine().labels, names.LABEL_INSTANCE_TYPE: self.kind, **of_pool, **self.labels},
            taints=(f"{names.STARTUP_TAINT}=true:NoSchedule", *taints),
            plugin=self.plugin if self.pool else None,
            # Real kubelets post what a plugin offers every 10 s, which is long to watch.
            sync_every=1.0 if self.pool else Machine().sync_every,
            devices=self.devices,
            device_delay=2.0,
            cpu=str(self.cpu),
            memory=f"{self.gib}Gi",
            max_pods=self.max_pods,
            provider_id=f"aws:///eu-west-1a/i-0{number:016x}",
            boot_id=f"2b5b8f9a-0000-4000-8000-{number:012x}",
            env={**driver, RECORDING: self.name},
        )


FIRST = Member(
    name="gpu-t4", kind="g4dn.xlarge", cpu=4, gib=16, max_pods=29, card=T4, nvml=nvml_double.MACHINES["g4dn.xlarge"]
)

OTHERS = (
    Member(
        name="gpu-a10g", kind="g5.xlarge", cpu=4, gib=16, max_pods=58, card=A10G, nvml=nvml_double.MACHINES["g5.xlarge"]
    ),
    Member(
        name="gpu-l4", kind="g6.xlarge", cpu=4, gib=16, max_pods=58, card=L4, nvml=nvml_double.MACHINES["g6.xlarge"]
    ),
    Member(
        name="gpu-l4-eighth",
        kind="g6f.large",
        cpu=2,
        gib=8,
        max_pods=110,  # with prefix delegation, AWS's limit for machines of fewer than 30 vCPUs; 20 without
        aside="an eighth of an L4, with prefix delegation (110 pods)",
        card=L4_3Q,
        nvml=nvml_double.MACHINES["g6f.large"],
    ),
    Member(
        name="gpu-radeon",
        kind="g4ad.xlarge",
        cpu=4,
        gib=16,
        max_pods=8,
        aside="a GPU of AMD's; the mocked EC2 does not offer the type, the built-in table knows it",
        reason="NotNVIDIA",
        devices={"amd.com/gpu": 1},
    ),
    Member(
        name="gpu-a100-mig",
        kind="p4d.24xlarge",
        cpu=96,
        gib=1152,
        max_pods=250,
        aside="8 GPUs, cut up by MIG; no probe, since it would change nothing",
        reason="MIG",
        # The MIG manager's all-balanced on A100-40GB: 2 of 1g.5gb, 1 of 2g.10gb and 1 of 3g.20gb for each GPU.
        devices={"nvidia.com/mig-1g.5gb": 16, "nvidia.com/mig-2g.10gb": 8, "nvidia.com/mig-3g.20gb": 8},
        labels={names.MIG_CONFIG: "all-balanced", names.MIG_CONFIG_STATE: "success"},
        nvml=nvml_double.P4D_MIG,
    ),
)

BLIND = Member(
    name="gpu-blind",
    kind="g4dn.xlarge",
    cpu=4,
    gib=16,
    max_pods=29,
    aside="its driver runs and sees no GPU",
    reason="NoNVML",
    open=False,
    devices={},  # the device plugin asks NVML too
    nvml={**nvml_double.MACHINES["g4dn.xlarge"], "NVML_DOUBLE_COUNT": "0"},
)

TIGHT = "gpu-l4-eighth"
"""Where GPU memory itself is the limit: the node whose kubelet forgets."""

DEV = replace(FIRST, name="dev-1", pool=pools.DEV)
PRODUCTION = Member(
    name="production-1",
    kind="g5.xlarge",
    cpu=4,
    gib=16,
    max_pods=58,
    card=A10G,
    nvml=nvml_double.MACHINES["g5.xlarge"],
    pool=pools.PRODUCTION,
)
STUCK = replace(
    DEV,
    name="dev-2",
    aside="its device plugin will lose a race at its start (NVIDIA/k8s-device-plugin 1645)",
    plugin=replace(DEV.plugin, lost_races=1),
)

EVERYONE = (FIRST, *OTHERS, BLIND, DEV, PRODUCTION, STUCK)
