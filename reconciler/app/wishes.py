"""How do settings become what the controller is given? Plain values, one by one."""

import math

from reconciler.app.controller import Wishes
from reconciler.decide.node import NodePolicy
from reconciler.kube.lease import LeaseTimes
from reconciler.kube.probe_settings import ProbeJobSettings
from reconciler.kube.watch import Pace
from reconciler.model.policy import SlicingPolicy
from reconciler.settings.policy import capacity_policy
from reconciler.settings.root import Settings


def wishes(settings: Settings) -> Wishes:
    return Wishes(
        namespace=settings.kubernetes.namespace,
        policy=node_policy(settings),
        probe=probe_job(settings),
        pace=Pace(
            page=settings.kubernetes.page_size,
            lifetime=settings.kubernetes.watch_timeout.total_seconds(),
            silence=settings.kubernetes.watch_silence.total_seconds(),
            answer=settings.kubernetes.request_timeout.total_seconds(),
        ),
        workers=settings.work.workers,
        ec2_ttl=settings.catalog.ec2_ttl,
        ec2_retry=settings.catalog.ec2_retry,
        first_retry=settings.work.first_retry.total_seconds(),
        longest_retry=settings.work.longest_retry.total_seconds(),
    )


def node_policy(settings: Settings) -> NodePolicy:
    return NodePolicy(capacity_policy(settings), SlicingPolicy())


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


def lease_times(settings: Settings) -> LeaseTimes:
    return LeaseTimes(
        duration=settings.leader.lease_duration.total_seconds(),
        renew_within=settings.leader.renew_deadline.total_seconds(),
        retry=settings.leader.retry_period.total_seconds(),
    )
