"""What does a Job do next? Start a pod, wait, count a failure, end: the Job controller for jobs of few completions."""

from collections.abc import Callable
from datetime import datetime, timedelta

from reconciler.sandbox.attending import attend
from reconciler.sandbox.client import Client
from reconciler.sandbox.encoding import Json, moment, stamp
from reconciler.sandbox.failure_policy import Verdict, judge
from reconciler.sandbox.kinds import JOBS, PODS
from reconciler.sandbox.mirror import Bell, Mirrors
from reconciler.sandbox.owning import controlled, pod_from_template

_FIRST_BACKOFF = 10.0
_LONGEST_BACKOFF = 600.0
"""Seconds between a pod's failure and the next pod: 10, 20, 40 ... (DefaultJobPodFailureBackOff)."""


class JobController:
    """Runs Jobs' pods and writes their status. What it has counted it remembers itself; it is never restarted."""

    def __init__(self, client: Client, mirrors: Mirrors, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._bell = Bell()
        self._jobs = mirrors.of(JOBS, self._bell)
        self._pods = mirrors.of(PODS, self._bell)
        self._counted: dict[str, dict[str, Verdict]] = {}

    async def run(self) -> None:
        await attend(self._bell, (self._jobs, self._pods), self._pass)

    async def _pass(self) -> float | None:
        owned = controlled(self._pods)
        waits = [await self._reconcile(job, owned.get(job["metadata"]["uid"], [])) for job in self._jobs]
        return min((wait for wait in waits if wait is not None), default=None)

    async def _reconcile(self, job: Json, pods: list[Json]) -> float | None:
        if "deletionTimestamp" in job["metadata"] or job["spec"].get("suspend"):
            return None
        if (finished := _finished(job)) is not None:
            return await self._expire(job, finished)
        verdicts = self._count(job, pods)
        active = [pod for pod in pods if _active(pod)]
        status = self._counts(job, pods, active, verdicts)
        why = self._failure(job, pods, verdicts, status)
        if why is not None:
            for pod in active:
                await self._remove(pod)
            status |= {"active": 0, "failed": status["failed"] + len(active)}
            await self._write(job, status, [("FailureTarget", *why), ("Failed", *why)])
            return None
        if status["succeeded"] >= job["spec"]["completions"]:
            reached = ("CompletionsReached", "Reached expected number of succeeded pods")
            status["completionTime"] = stamp(self._now())
            await self._write(job, status, [("SuccessCriteriaMet", *reached), ("Complete", *reached)])
            return None
        wait = await self._start(job, len(active), status, verdicts)
        await self._write(job, status, [])
        return wait

    def _count(self, job: Json, pods: list[Json]) -> dict[str, Verdict]:
        """Judge each pod that has failed, or that somebody deleted, once."""
        counted = self._counted.setdefault(job["metadata"]["uid"], {})
        for pod in pods:
            if _failed(pod) and pod["metadata"]["uid"] not in counted:
                counted[pod["metadata"]["uid"]] = judge(job, pod, self._now())
        return counted

    def _counts(self, job: Json, pods: list[Json], active: list[Json], verdicts: dict[str, Verdict]) -> Json:
        return {
            "startTime": job["status"].get("startTime") or stamp(self._now()),
            "active": len(active),
            "succeeded": sum(pod["status"].get("phase") == "Succeeded" for pod in pods),
            "failed": sum(verdict.counts for verdict in verdicts.values()),
        }

    def _failure(
        self, job: Json, pods: list[Json], verdicts: dict[str, Verdict], status: Json
    ) -> tuple[str, str] | None:
        """Why the whole Job has failed, if it has."""
        spec = job["spec"]
        fatal = next((verdict.fatal for verdict in verdicts.values() if verdict.fatal), "")
        if fatal:
            return "PodFailurePolicy", fatal
        restarts = sum(
            each.get("restartCount", 0) for pod in pods for each in pod["status"].get("containerStatuses") or []
        )
        if status["failed"] > spec["backoffLimit"] or (restarts and restarts >= spec["backoffLimit"]):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        deadline = spec.get("activeDeadlineSeconds")
        if deadline is not None and self._now() >= moment(status["startTime"]) + timedelta(seconds=deadline):
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    async def _start(self, job: Json, active: int, status: Json, verdicts: dict[str, Verdict]) -> float | None:
        """Start what is missing, or say when that, or the deadline, will be due."""
        waits = []
        missing = min(job["spec"]["parallelism"], job["spec"]["completions"] - status["succeeded"]) - active
        due = self._now()
        if verdicts:
            delay = min(_FIRST_BACKOFF * 2.0 ** (len(verdicts) - 1), _LONGEST_BACKOFF)
            due = max(verdict.at for verdict in verdicts.values()) + timedelta(seconds=delay)
        if missing > 0 and self._now() >= due:
            for _ in range(missing):
                pod = pod_from_template(job, job["spec"]["template"])
                self._pods.note(await self._client.create(PODS, job["metadata"]["namespace"], pod))
                status["active"] += 1
        elif missing > 0:
            waits.append((due - self._now()).total_seconds())
        if (deadline := job["spec"].get("activeDeadlineSeconds")) is not None:
            waits.append((moment(status["startTime"]) + timedelta(seconds=deadline) - self._now()).total_seconds())
        return min(waits, default=None)

    async def _remove(self, pod: Json) -> None:
        meta = pod["metadata"]
        gone = await self._client.delete(PODS, meta["namespace"], meta["name"], {"preconditions": {"uid": meta["uid"]}})
        if gone is not None:
            self._pods.note(gone)

    async def _write(self, job: Json, status: Json, conditions: list[tuple[str, str, str]]) -> None:
        meta, now = job["metadata"], stamp(self._now())
        if conditions:
            status["conditions"] = [
                {
                    "type": each,
                    "status": "True",
                    "lastTransitionTime": now,
                    "lastProbeTime": now,
                    "reason": reason,
                    "message": text,
                }
                for each, reason, text in conditions
            ]
        if all(job["status"].get(key) == value for key, value in status.items()):
            return
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        self._jobs.note(await self._client.merge(JOBS, meta["namespace"], meta["name"], change, subresource="status"))

    async def _expire(self, job: Json, finished: datetime) -> float | None:
        """ttlSecondsAfterFinished: the Job and its pods go."""
        if (ttl := job["spec"].get("ttlSecondsAfterFinished")) is None:
            return None
        left = (finished + timedelta(seconds=ttl) - self._now()).total_seconds()
        if left > 0:
            return left
        meta = job["metadata"]
        options = {"propagationPolicy": "Background", "preconditions": {"uid": meta["uid"]}}
        await self._client.delete(JOBS, meta["namespace"], meta["name"], options)
        self._jobs.forget(job)
        self._counted.pop(meta["uid"], None)
        return None


def _finished(job: Json) -> datetime | None:
    for each in job["status"].get("conditions") or []:
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return moment(each["lastTransitionTime"])
    return None


def _active(pod: Json) -> bool:
    return pod["status"].get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def _failed(pod: Json) -> bool:
    phase = pod["status"].get("phase")
    return phase == "Failed" or (phase != "Succeeded" and "deletionTimestamp" in pod["metadata"])
