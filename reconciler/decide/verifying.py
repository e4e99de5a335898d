"""Does a node keep its promise, as a pod sees it? Facts in, one step after the other out; reads in a pod's own order.

    node - offered - slots - advertised     the node alone
    created - scheduled - admitted - image - started     how far a pod comes
    library - driver - gpus - model - memory     what it sees there

Each step that fails has its own sentence. What stands behind it and was not reached is skipped, not failed: one cause
is told once.
"""

from collections.abc import Mapping

from reconciler.decide import verify_node, verify_pod, verify_seen
from reconciler.model.node import NodeView
from reconciler.model.trial import Answered, Trial
from reconciler.model.verification import Step, StepName, StepState, Verification, VerifyPolicy


def asks(node: NodeView, policy: VerifyPolicy) -> Mapping[str, int]:
    """What a pod would ask the node for, in base units; empty where it makes no sense to try."""
    gpu = verify_node.offered_resource(node, policy)
    if verify_node.standing_step(node).state is not StepState.OK or not gpu:
        return {}
    memory = {policy.resource: policy.memory} if node.allocatable.get(policy.resource, 0) >= policy.memory else {}
    return {gpu: 1, **memory}


def verify(node: NodeView, trial: Trial | None, policy: VerifyPolicy) -> Verification:
    """All steps. `trial` None: no Job was made, or none is known. Total: every set of facts has an answer."""
    steps = list(verify_node.steps(node, policy))
    if trial is not None:
        steps += verify_pod.steps(trial)
        match trial.reached:
            case Answered(report):
                steps += verify_seen.steps(report, node, policy)
            case _:
                pass
    return Verification(node.name, _all(steps), trial.job if trial is not None else "")


def could_not_be_tried(node: NodeView, policy: VerifyPolicy, why: str) -> Verification:
    """The API server did not take the Job."""
    failed = Step(StepName.CREATED, StepState.FAILED, f"the Job could not be made: {why}")
    return Verification(node.name, _all([*verify_node.steps(node, policy), failed]))


def waits_for(trial: Trial | None) -> str:
    """What the pod is waiting for, as half a sentence; empty where it just takes its time."""
    return verify_pod.hindrance(trial.reached) if trial is not None else ""


def worth_a_try(node: NodeView, policy: VerifyPolicy) -> bool:
    """Whether the node is one of those that `all` means: anything speaks of an NVIDIA GPU."""
    return verify_node.has_gpus(node, policy)


def _all(steps: list[Step]) -> tuple[Step, ...]:
    """Every step once, in order: those that were not reached name the one that stopped the pod."""
    by_name = {step.name: step for step in steps}
    because = "not looked at: no pod was tried"
    whole = []
    for name in StepName:
        step = by_name.get(name, Step(name, StepState.SKIPPED, because))
        if step.state is StepState.FAILED:
            because = f"not reached: see {name.value}"
        whole.append(step)
    return tuple(whole)
