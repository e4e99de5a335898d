"""How do settings become Jobs on GPU nodes, those that probe and those that verify? Plain values, one by one."""

import math
from dataclasses import replace

from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import quantity
from reconciler.model.verification import VerifyPolicy
from reconciler.settings.root import Settings


def probe_job(settings: Settings) -> ProbeJobSettings:
    probe = settings.probe
    return ProbeJobSettings(
        namespace=settings.kubernetes.namespace,
        image=probe.image,
        image_pull_policy=probe.pull_policy,
        image_pull_secrets=(probe.pull_secret,) if probe.pull_secret else (),
        runtime_class=probe.runtime_class or "",
        service_account=probe.service_account or "",
        priority_class=probe.priority_class or "",
        deadline=math.ceil(probe.deadline.total_seconds()),
        backoff_limit=probe.tries - 1,
        ttl=math.ceil(probe.ttl.total_seconds()),
        cpu=probe.cpu,
        memory=probe.memory,
        extra_capabilities=("SYS_ADMIN",) if probe.sys_admin else (),
        read_only_root=probe.read_only_root,
        user=probe.user,
    )


def verify_policy(settings: Settings) -> VerifyPolicy:
    return VerifyPolicy(
        resource=settings.capacity.resource,
        gpu_resource=settings.capacity.gpu_resource,
        memory=quantity.units(settings.verify.gpu_memory),
        tolerance_percent=settings.capacity.tolerance_percent,
        probe=settings.probe.enabled,
    )


def verify_job(settings: Settings) -> ProbeJobSettings:
    """As the probe's, but without what only a probe is given to reach the GPU: the pod is one like any other."""
    verify = settings.verify
    return replace(
        probe_job(settings),
        image=verify.image or settings.probe.image,
        runtime_class=verify.runtime_class or "",
        priority_class=verify.priority_class or "",
        extra_capabilities=(),
        deadline=math.ceil(verify.deadline.total_seconds()),
        backoff_limit=0,
        ttl=math.ceil(verify.ttl.total_seconds()),
    )
