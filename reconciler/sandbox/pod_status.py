"""What does a kubelet write into a pod's status? Phase, conditions and container statuses, from what its host says."""

from datetime import datetime

from reconciler.sandbox.encoding import Json, stamp
from reconciler.sandbox.host import Box, Ended, Running, Sandboxed, State
from reconciler.sandbox.programs import Waiting

_LONGEST_MESSAGE = 4096
"""Bytes of a termination message that the kubelet keeps (kubecontainer.MaxContainerTerminationMessageLength)."""


def pod_status(pod: Json, sandboxed: Sandboxed, address: str, now: datetime) -> Json:
    """The status as a strategic merge patch, to be laid over what is there."""
    spec = pod["spec"]
    main = [sandboxed.boxes[each["name"]] for each in spec["containers"]]
    init = [sandboxed.boxes[each["name"]] for each in spec.get("initContainers") or []]
    phase = _phase(spec, main)
    ready = phase == "Running" and all(isinstance(box.state, Running) for box in main)
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "" if ready else "ContainersNotReady")
    status: Json = {
        "phase": phase,
        "conditions": [
            _condition(pod, "PodReadyToStartContainers", phase in ("Pending", "Running"), "", now),
            _condition(pod, "Initialized", sandboxed.started or not init, "", now),
            _condition(pod, "Ready", ready, reason, now),
            _condition(pod, "ContainersReady", ready, reason, now),
            _condition(pod, "PodScheduled", True, "", now),
        ],
        "hostIP": address,
        "startTime": pod["status"].get("startTime") or stamp(now),
        "containerStatuses": [_container(each, box) for each, box in zip(spec["containers"], main, strict=True)],
    }
    if init:
        status["initContainerStatuses"] = [
            _container(each, box) | {"ready": isinstance(box.state, Ended) and box.state.exit.code == 0}
            for each, box in zip(spec["initContainers"], init, strict=True)
        ]
    return status


def rejected(reason: str, why: str, now: datetime) -> Json:
    """The status of a pod that the kubelet did not admit."""
    return {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {why}", "startTime": stamp(now)}


def _phase(spec: Json, boxes: list[Box]) -> str:
    """getPhase of the kubelet, for the three restart policies."""
    if any(isinstance(box.state, Waiting) and box.last is None for box in boxes):
        return "Pending"
    if spec.get("restartPolicy", "Always") == "Always" or not all(isinstance(box.state, Ended) for box in boxes):
        return "Running"
    if all(isinstance(box.state, Ended) and box.state.exit.code == 0 for box in boxes):
        return "Succeeded"
    return "Failed" if spec["restartPolicy"] == "Never" else "Running"  # OnFailure: it is started again


def _condition(pod: Json, name: str, holds: bool, reason: str, now: datetime) -> Json:
    value = "True" if holds else "False"
    known = next((each for each in pod["status"].get("conditions") or [] if each["type"] == name), None)
    since = known["lastTransitionTime"] if known and known["status"] == value else stamp(now)
    return {"type": name, "status": value, "lastTransitionTime": since} | ({"reason": reason} if reason else {})


def _container(container: Json, box: Box) -> Json:
    return {
        "name": container["name"],
        "state": _state(box.state),
        "lastState": {} if box.last is None else _state(box.last),
        "ready": isinstance(box.state, Running),
        "started": isinstance(box.state, Running),
        "restartCount": box.restarts,
        "image": container["image"],
        "imageID": container["image"],
    }


def _state(state: State) -> Json:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason} | ({"message": message} if message else {})}
        case Running(since):
            return {"running": {"startedAt": stamp(since)}}
        case Ended(left, since, until):
            reason = "Completed" if left.code == 0 else "Error"
            message = left.message.encode()[:_LONGEST_MESSAGE].decode(errors="replace")
            times = {"startedAt": stamp(since), "finishedAt": stamp(until)}
            return {
                "terminated": {
                    "exitCode": left.code,
                    "reason": reason,
                    **({"message": message} if message else {}),
                    **times,
                }
            }
