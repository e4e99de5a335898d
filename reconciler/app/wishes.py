"""How do settings become what the controller is given? Plain values, one by one."""

from reconciler.app.controller import Wishes
from reconciler.app.job_wishes import probe_job, verify_job, verify_policy
from reconciler.decide.node import NodePolicy
from reconciler.kube.lease import LeaseTimes
from reconciler.kube.watch import Pace
from reconciler.settings.karpenter import overlay_policy
from reconciler.settings.policy import capacity_policy, slicing_policy
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
        plugin_selector=settings.slicing.plugin_selector,
        overlays=None if settings.karpenter.overlays == "off" else overlay_policy(settings.karpenter),
        write_overlays=settings.karpenter.overlays == "write",
        verify=verify_policy(settings) if settings.verify.at_join else None,
        verify_job=verify_job(settings),
        workers=settings.work.workers,
        ec2_ttl=settings.catalog.ec2_ttl,
        ec2_retry=settings.catalog.ec2_retry,
        first_retry=settings.work.first_retry.total_seconds(),
        longest_retry=settings.work.longest_retry.total_seconds(),
    )


def node_policy(settings: Settings) -> NodePolicy:
    return NodePolicy(capacity_policy(settings), slicing_policy(settings), settings.karpenter.uninitialized_after)


def lease_times(settings: Settings) -> LeaseTimes:
    return LeaseTimes(
        duration=settings.leader.lease_duration.total_seconds(),
        renew_within=settings.leader.renew_deadline.total_seconds(),
        retry=settings.leader.retry_period.total_seconds(),
    )
