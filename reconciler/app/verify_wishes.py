"""How do settings become what verifications are given? Plain values, one by one."""

import math
from dataclasses import replace

from reconciler.app.wishes import probe_job
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.model import quantity
from reconciler.model.verification import VerifyPolicy
from reconciler.settings.root import Settings


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
