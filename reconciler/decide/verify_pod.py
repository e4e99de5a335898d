"""How far did the pod come, and what stopped it? Created, scheduled, admitted, image, started: each with its cause."""

from typing import assert_never

from reconciler.model.quoting import quoted
from reconciler.model.trial import (
    Answered,
    Bound,
    Died,
    NoImage,
    NoPod,
    NotStarted,
    Reached,
    Refused,
    Running,
    Trial,
    Unscheduled,
)
from reconciler.model.verification import Step, StepName, StepState

_WAY = (StepName.CREATED, StepName.SCHEDULED, StepName.ADMITTED, StepName.IMAGE, StepName.STARTED, StepName.LIBRARY)
_DONE = {
    StepName.CREATED: "the Job made its pod",
    StepName.SCHEDULED: "the scheduler placed the pod on the node",
    StepName.ADMITTED: "the kubelet admitted the pod",
    StepName.IMAGE: "the image is there",
    StepName.STARTED: "the container ran",
}
_UNADMITTED_DEVICE = "UnexpectedAdmissionError"
"""The device manager's refusals: no healthy devices, or fewer than asked for (cm/devicemanager)."""


def steps(trial: Trial) -> tuple[Step, ...]:
    """What went well up to the step that did not, and that one; none beyond it."""
    stopped = _stop(trial)
    gone = _WAY.index(stopped.name) if stopped is not None else len(_DONE)
    fine = tuple(Step(name, StepState.OK, _DONE[name]) for name in _WAY[:gone])
    return fine if stopped is None else (*fine, stopped)


def hindrance(reached: Reached) -> str:
    """What holds a pod up that may still come further, as half a sentence; empty where nothing does."""
    match reached:
        case Unscheduled(message) if message:
            return f"waits for a place: {quoted(message)}"
        case NoImage(reason, message) | NotStarted(reason, message):
            return f"waits to start: {reason}, {quoted(message)}"
        case _:
            return ""


def _stop(trial: Trial) -> Step | None:
    name, why = _cause(trial.reached, trial.late)
    return Step(name, StepState.FAILED, why) if name is not None else None


def _cause(reached: Reached, late: bool) -> tuple[StepName | None, str]:
    """The step that failed and its sentence. A step that was waited for in vain has failed, too."""
    time = "before the Job's deadline" if late else "in the time that it was watched"
    match reached:
        case NoPod(why):
            return StepName.CREATED, (
                f"no pod of the Job was seen ({quoted(why) or 'the Job says nothing'}): its events tell whether a"
                " quota, the namespace's Pod Security level or a missing RuntimeClass refused it"
            )
        case Unscheduled(message):
            said = quoted(message) or "it has not looked at the pod: is kube-scheduler running?"
            return StepName.SCHEDULED, f"not scheduled {time}: {said}"
        case Bound(""):
            return StepName.ADMITTED, f"the kubelet did not begin with the pod {time}: is it running?"
        case Bound(waiting):
            return StepName.IMAGE, (
                f"the image was not there, or the container not made, {time} ({quoted(waiting)}): a large image over a"
                " slow network needs a longer verify.deadline"
            )
        case Refused(reason, message):
            return StepName.ADMITTED, _refusal(reason, message)
        case NoImage(reason, message):
            return StepName.IMAGE, f"the image cannot be pulled: {reason}, {quoted(message)}"
        case NotStarted(reason, message):
            return StepName.STARTED, (
                f"the container could not be started: {reason}, {quoted(message)}; with the toolkit's CDI mode that is"
                " how a driver that is not loaded, or a device that is gone, looks"
            )
        case Running():
            return StepName.LIBRARY, (
                f"the program ran and gave no answer {time}: a call into the driver hangs; look for Xid lines in the"
                " node's log"
            )
        case Died(exit_code, why):
            return StepName.LIBRARY, f"the program ended with exit code {exit_code} and no report: {quoted(why)}"
        case Answered():
            return None, ""
        case _:
            assert_never(reached)


def _refusal(reason: str, message: str) -> str:
    said = f"the kubelet refused the pod: {reason or 'no reason given'}, {quoted(message)}"
    if reason == _UNADMITTED_DEVICE:
        return f"{said}; the device plugin gave no GPU (it restarts, switches its profile, or its GPUs are unhealthy)"
    if reason.startswith("OutOf"):
        return f"{said}; the scheduler saw room that the kubelet does not have: what the node offers just changed"
    return said
