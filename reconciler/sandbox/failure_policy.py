"""Does a failed pod count against its Job, end it, or not matter? podFailurePolicy (job/pod_failure_policy.go)."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.sandbox.encoding import Json


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one failed pod means. `fatal` is the message with which the whole Job ends."""

    at: datetime
    counts: bool = True
    fatal: str = ""


def judge(job: Json, pod: Json, now: datetime) -> Verdict:
    """Apply the first rule that matches; without one the failure counts."""
    for index, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or []):
        found = _exit_code(rule, pod) or _condition(rule, pod)
        if not found:
            continue
        match rule.get("action"):
            case "FailJob":
                return Verdict(now, fatal=f"{found} matching FailJob rule at index {index}")
            case "Ignore":
                return Verdict(now, counts=False)
            case _:
                return Verdict(now)
    return Verdict(now)


def _exit_code(rule: Json, pod: Json) -> str:
    """The text of what matched, or nothing."""
    wanted = rule.get("onExitCodes")
    if not wanted:
        return ""
    meta = pod["metadata"]
    for status in pod["status"].get("containerStatuses") or []:
        ended = (status.get("state") or {}).get("terminated")
        if ended is None or ended["exitCode"] == 0 or wanted.get("containerName") not in (None, status["name"]):
            continue
        if (ended["exitCode"] in wanted["values"]) is (wanted["operator"] == "In"):
            place = f"{meta['namespace']}/{meta['name']}"
            return f"Container {status['name']} for pod {place} failed with exit code {ended['exitCode']}"
    return ""


def _condition(rule: Json, pod: Json) -> str:
    meta = pod["metadata"]
    for wanted in rule.get("onPodConditions") or []:
        for each in pod["status"].get("conditions") or []:
            if (each["type"], each["status"]) == (wanted["type"], wanted.get("status", "True")):
                return f"Pod {meta['namespace']}/{meta['name']} has condition {each['type']}"
    return ""
