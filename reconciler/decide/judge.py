"""Given what was promised and what was found: what should the node say? Pure figures, no look at what stands there."""

from dataclasses import replace
from typing import assert_never

from reconciler.decide import figure, label, learning, standing
from reconciler.decide.figure import Figure
from reconciler.decide.finding import Finding, Inconclusive, Measured, Sliced, Unfinished, Unusable
from reconciler.decide.promise import Promise
from reconciler.decide.verdict import Verdict
from reconciler.model.policy import CapacityPolicy, MultiGpu
from reconciler.model.reasons import Reason
from reconciler.model.record import Source


def judge(promised: Promise, found: Finding, policy: CapacityPolicy, *, fresh: bool) -> Verdict:
    """The verdict on a node that may have NVIDIA GPUs. `fresh`: the finding is of the node's present boot."""
    match found:
        case Measured():
            return _measured(promised, found, policy)
        case Sliced(text):
            return _nothing(Reason.MIG, standing.mig(text), promised, fresh)
        case Unusable(text):
            return _nothing(Reason.NO_NVML, f"no GPU can be used on this node: {text}", promised, fresh)
        case Inconclusive(text):
            unverified = f": the probe gave no figure, {text}"
            return _unproven(promised, policy, Reason.UNVERIFIED, unverified, "")
        case Unfinished(progress) if policy.probe:
            return _unproven(promised, policy, Reason.PROVISIONAL, " until the probe has answered", progress)
        case Unfinished():
            return _unproven(promised, policy, Reason.UNVERIFIED, ": probes are switched off", "")
        case _:
            assert_never(found)


def _nothing(reason: Reason, because: str, promised: Promise, fresh: bool) -> Verdict:
    return Verdict(
        reason,
        because if fresh else f"{because} (found before the node's last boot)",
        model=promised.model,
        count=promised.count or 0,
        ec2_mib=promised.ec2_mib,
        probe_wanted=True,
    )


def _unproven(promised: Promise, policy: CapacityPolicy, reason: Reason, until: str, progress: str) -> Verdict:
    """A figure that NVML has not confirmed on this node."""
    base = Verdict(
        reason,
        "",
        aside=progress,
        model=promised.model,
        count=promised.count or 0,
        ec2_mib=promised.ec2_mib,
        probe_wanted=True,
    )
    guess = None if promised.count is None else figure.provisional(promised, policy, promised.count)
    if guess is None:
        silence = promised.ec2_silence or f"EC2 does not say how many GPUs {promised.instance_type} has, or how large"
        return replace(base, reason=Reason.UNKNOWN_TYPE, because=f"{silence}; nothing is advertised{until}")
    if guess.overridden:
        reason = Reason.OVERRIDDEN
    elif guess.source is Source.LEARNED and (reason is Reason.PROVISIONAL or not policy.probe):
        reason = Reason.LEARNED
    if guess.source is Source.BUILTIN and promised.ec2_silence:
        guess = replace(guess, how=f"{guess.how}; {promised.ec2_silence}")
    return _advertised(replace(base, reason=reason), guess, policy, until)


def _measured(promised: Promise, found: Measured, policy: CapacityPolicy) -> Verdict:
    count = max(promised.count or 0, found.gpus)
    if count > 1 and policy.multi_gpu is MultiGpu.SKIP:
        return standing.multi_gpu(count, promised)
    lost = count - len(found.readings)
    sure = figure.measured(found.readings, promised, policy)
    said, who = _said(promised)
    apart = figure.apart_percent(found.readings, said)
    name = promised.model or label.plain_name(found.readings[0].name)
    base = Verdict(
        Reason.VERIFIED,
        "",
        model=name,
        count=count,
        ec2_mib=promised.ec2_mib,
        learn=learning.lesson(promised, found) if found.fresh and not lost else None,
        probe_wanted=True,
        conclusive=found.fresh and not lost,
    )
    subject = f"the {name}" if count == 1 else f"{len(found.readings)} {name}"
    if lost:
        which = f" ({found.unread})" if found.unread else ""
        base = replace(base, reason=Reason.GPU_LOST)
        prefix = f"NVML reads {len(found.readings)} of {count} {name}{which}, so reboot or replace the node; the others"
    elif apart > policy.tolerance_percent:
        base = replace(base, reason=Reason.MISMATCH)
        prefix = f"NVML and {who} are {apart:.0f} % apart on {subject} ({who} says {said} MiB), NVML's figure counts"
    elif said:
        prefix = f"NVML and {who} agree on {subject}"
    else:
        prefix = f"NVML was asked about {subject}, and nobody else knows the type"
    if who != "EC2" and promised.ec2_silence:
        prefix += f" ({promised.ec2_silence})"
    if sure.overridden and not lost:
        base = replace(base, reason=Reason.OVERRIDDEN)
    if not found.fresh and base.reason in (Reason.VERIFIED, Reason.MISMATCH):
        base = replace(base, reason=Reason.LEARNED)
        sure = Figure(sure.gpus, Source.LEARNED, sure.largest_mib, sure.how)
    until = "" if found.fresh else " as before the node's last boot, until the probe has answered again"
    how = Figure(sure.gpus, sure.source, sure.largest_mib, f"{prefix}: {sure.how}", sure.overridden)
    return _advertised(base, how, policy, until)


def _advertised(base: Verdict, what: Figure, policy: CapacityPolicy, until: str) -> Verdict:
    """The verdict with the figure in it, unless the policy or a margin takes it away."""
    several = len(what.gpus) > 1 or base.count > 1
    labels = label.of(base.model, what.largest_mib, len(what.gpus), what.source)
    if several and policy.multi_gpu is MultiGpu.LARGEST:
        reason = Reason.GPU_LOST if base.reason is Reason.GPU_LOST else Reason.MULTI_GPU
        because = f"{what.how}; nothing is advertised, a label tells the largest GPU (capacity.multi_gpu: largest)"
        return replace(base, reason=reason, because=because, labels=labels)
    if what.total < 1:
        because = f"{what.how}; the margins leave nothing to advertise: lower them"
        return replace(base, reason=Reason.NOTHING_LEFT, because=because, labels=labels)
    whole = " as the sum of its GPUs" if several else ""
    sure = " unverified" if base.reason is Reason.UNVERIFIED else ""
    because = f"{what.how}; {what.total} MiB advertised{sure}{whole}{until}"
    return replace(base, because=because, basis=what.how, labels=labels, mib=what.total, source=what.source)


def _said(promised: Promise) -> tuple[int, str]:
    """What NVML's total is compared with, and who says so."""
    if promised.ec2_mib is not None:
        return promised.ec2_mib, "EC2"
    row = promised.builtin
    return ((row.ec2_mib or row.nvml_mib or 0) if row is not None else 0), "the built-in table"
