"""How should probe Jobs look on this cluster? Plain values; settings/ fills them in."""

from dataclasses import dataclass

PROBE = ("python", "-m", "reconciler.probe")


@dataclass(frozen=True, slots=True)
class ProbeJobSettings:
    namespace: str
    image: str
    """The controller's own image holds the probe."""
    command: tuple[str, ...] = PROBE
    image_pull_policy: str = ""
    """Empty: Kubernetes' own default."""
    image_pull_secrets: tuple[str, ...] = ()
    runtime_class: str = ""
    """Empty on EKS AMIs, which have the handler but no RuntimeClass object; `nvidia` with the GPU Operator."""
    service_account: str = ""
    """Never with a token; only image pull secrets may come from it."""
    priority_class: str = ""
    deadline: int = 300
    """Seconds for the whole Job, all its tries together."""
    backoff_limit: int = 3
    """Further tries after an answer that may change (the driver is still loading)."""
    ttl: int = 600
    """Seconds that an ended Job is kept, for people to look at."""
    cpu: str = "10m"
    memory: str = "64Mi"
    extra_capabilities: tuple[str, ...] = ()
    """SYS_ADMIN where the toolkit honours the environment of privileged containers only."""
    read_only_root: bool = True
    user: int = 65532
    """The numeric user, so that the kubelet can tell that it is not root whatever the image says."""
