"""kube/plugin_pods: what NVIDIA's chart and operator start on a node is seen for what it is, and so is why it fails."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from reconciler.kube.container_failing import LONGEST
from reconciler.kube.plugin_pods import PluginPodWire, plugin_pod
from reconciler.model.plugin import PluginPod

MANAGER_ENV = [
    {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "NODE_LABEL", "value": "nvidia.com/device-plugin.config"},
    {"name": "CONFIG_FILE_SRCDIR", "value": "/available-configs"},
]
PLUGIN = {"name": "nvidia-device-plugin-ctr", "command": ["nvidia-device-plugin"], "env": [{"name": "MPS_ROOT"}]}


def manager(name: str) -> dict[str, Any]:
    return {"name": name, "command": ["config-manager"], "env": MANAGER_ENV}


CHART = {
    "initContainers": [manager("nvidia-device-plugin-init")],
    "containers": [manager("nvidia-device-plugin-sidecar"), PLUGIN],
}
"""templates/daemonset-device-plugin.yml, with config.map or config.name."""
CHART_ALONE = {"containers": [PLUGIN]}
OPERATOR = {
    "initContainers": [{"name": "toolkit-validation", "command": ["sh", "-c"]}, manager("config-manager-init")],
    "containers": [{"name": "nvidia-device-plugin", "command": ["/bin/sh", "-c"]}, manager("config-manager")],
}
"""assets/state-device-plugin/0500_daemonset.yaml; without a ConfigMap the operator takes both managers out."""
OPERATOR_ALONE = {
    "initContainers": OPERATOR["initContainers"][:1],
    "containers": OPERATOR["containers"][:1],
}
DISCOVERY = {
    "initContainers": [manager("gpu-feature-discovery-init")],
    "containers": [manager("gpu-feature-discovery-sidecar"), {"name": "gpu-feature-discovery-ctr"}],
}
MPS = {"containers": [manager("mps-control-daemon-sidecar"), {"name": "x", "command": ["mps-control-daemon"]}]}
SIDECAR, CONTAINER, INIT = "nvidia-device-plugin-sidecar", "nvidia-device-plugin-ctr", "nvidia-device-plugin-init"


def pod(spec: dict[str, Any], status: dict[str, Any] | None = None, **meta: Any) -> tuple[PluginPod | None, list[str]]:
    odd: list[str] = []
    document = {
        "metadata": {"name": "p", "namespace": "nvidia", "uid": "u", **meta},
        "spec": {"nodeName": "n1", **spec},
        "status": status or {},
    }
    return plugin_pod(msgspec.json.decode(json.dumps(document), type=PluginPodWire), odd.append), odd


def seen(spec: dict[str, Any], status: dict[str, Any] | None = None) -> PluginPod:
    found, odd = pod(spec, status)
    assert odd == []
    assert found is not None
    return found


def test_a_pod_of_the_chart_that_runs_is_ready_and_follows() -> None:
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]
    running = [{"name": name, "state": {"running": {"startedAt": "x"}}} for name in (SIDECAR, CONTAINER)]
    done = [{"name": INIT, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]
    found = seen(
        CHART,
        {
            "phase": "Running",
            "startTime": "2026-03-01T12:00:00Z",
            "conditions": conditions,
            "containerStatuses": running,
            "initContainerStatuses": done,
        },
    )

    assert (found.ref.namespace, found.ref.name, found.ref.uid, found.node) == ("nvidia", "p", "u", "n1")
    assert found.started == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert (found.ready, found.config_manager, found.manager_failing, found.plugin_failing) == (True, True, "", "")


@pytest.mark.parametrize(
    ("spec", "follows"),
    [
        (CHART, True),
        (CHART_ALONE, False),
        (OPERATOR, True),
        (OPERATOR_ALONE, False),
        ({"containers": [PLUGIN, {"name": "follower", "env": MANAGER_ENV}]}, True),
        ({"containers": [PLUGIN, {"name": "follower", "args": ["/usr/bin/config-manager"]}]}, True),
        ({"containers": [PLUGIN], "initContainers": [{"name": "config-manager", "restartPolicy": "Always"}]}, True),
        ({"containers": [{"name": "x"}], "initContainers": None}, False),
        ({}, False),
    ],
)
def test_a_config_manager_is_known_by_name_command_or_environment(spec: dict[str, Any], follows: bool) -> None:
    assert seen(spec).config_manager is follows


@pytest.mark.parametrize("spec", [DISCOVERY, MPS], ids=["gpu-feature-discovery", "mps-control-daemon"])
def test_the_charts_other_pods_carry_the_same_labels_and_are_not_the_plugin(spec: dict[str, Any]) -> None:
    assert pod(spec) == (None, [])


@pytest.mark.parametrize(
    ("status", "meta"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, {}),
        ({"phase": "Succeeded"}, {}),
        ({"phase": "Running"}, {"deletionTimestamp": "2026-03-01T12:00:00Z"}),
    ],
)
def test_a_pod_that_has_ended_or_is_being_deleted_is_gone(status: dict[str, Any], meta: dict[str, Any]) -> None:
    assert pod(CHART, status, **meta) == (None, [])


def waiting(reason: str, message: str = "", *, last: dict[str, Any] | None = None) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"state": state, "image": "nvcr.io/x:1", "lastState": {"terminated": last} if last else {}}


CRASH = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-03-01T12:00:00Z"}

FAILURES = {
    "starting": (waiting("ContainerCreating"), ""),
    "behind an init container": (waiting("PodInitializing"), ""),
    "not looked at yet": ({}, ""),
    "running, and never failed": ({"state": {"running": {"startedAt": "x"}}}, ""),
    "running again after it was done": ({"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 0}}}, ""),
    "an init container that is done": ({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, ""),
    "just ended": ({"state": {"terminated": CRASH}}, "CrashLoopBackOff, exit code 1"),
    "waiting for the next try": (
        waiting("CrashLoopBackOff", "back-off 40s restarting failed container=x pod=y", last=CRASH),
        "CrashLoopBackOff, exit code 1",
    ),
    "with last words": (
        waiting("CrashLoopBackOff", "back-off 5m", last={**CRASH, "message": "config ts-9\n does not exist\n"}),
        "CrashLoopBackOff, exit code 1: config ts-9 does not exist",
    ),
    "out of memory": (
        waiting("CrashLoopBackOff", last={"exitCode": 137, "reason": "OOMKilled"}),
        "CrashLoopBackOff, exit code 137 (OOMKilled)",
    ),
    "ending well again and again": (
        waiting("CrashLoopBackOff", last={"exitCode": 0, "reason": "Completed"}),
        "CrashLoopBackOff, exit code 0",
    ),
    "nobody knows how it ended": (waiting("CrashLoopBackOff", "back-off 10s"), "CrashLoopBackOff"),
    "an image that is not there": (waiting("ErrImagePull", "rpc error 17"), "ImagePullBackOff: nvcr.io/x:1"),
    "the same, waiting": (waiting("ImagePullBackOff", 'Back-off pulling image "x"'), "ImagePullBackOff: nvcr.io/x:1"),
    "a bad mount": (
        waiting("CreateContainerConfigError", 'configmap "x" not found'),
        'CreateContainerConfigError: configmap "x" not found',
    ),
    "without a word": (waiting("RunContainerError"), "RunContainerError"),
}


@pytest.mark.parametrize(("status", "why"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("name", [SIDECAR, CONTAINER])
def test_why_a_container_does_not_run_is_told_of_the_right_one(name: str, status: dict[str, Any], why: str) -> None:
    found = seen(CHART, {"phase": "Running", "containerStatuses": [{"name": name, **status}]})

    assert (found.manager_failing, found.plugin_failing) == ((why, "") if name == SIDECAR else ("", why))


def test_a_config_manager_that_keeps_the_pod_in_its_beginning_is_a_failing_config_manager() -> None:
    """A new pod on a node whose label names no key: the init container ends with 1, again and again (nos #57)."""
    status = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": INIT, **waiting("CrashLoopBackOff", last=CRASH)}],
        "containerStatuses": [{"name": name, **waiting("PodInitializing")} for name in (SIDECAR, CONTAINER)],
    }
    found = seen(CHART, status)

    assert (found.manager_failing, found.plugin_failing) == ("CrashLoopBackOff, exit code 1", "")
    assert found.ready is False


def test_the_operators_validation_that_fails_is_a_failing_plugin() -> None:
    status = {"initContainerStatuses": [{"name": "toolkit-validation", **waiting("CrashLoopBackOff", last=CRASH)}]}

    assert seen(OPERATOR, status).plugin_failing == "CrashLoopBackOff, exit code 1"


def test_last_words_are_cut() -> None:
    last = {"exitCode": 1, "message": "x" * 4096}
    found = seen(CHART, {"containerStatuses": [{"name": CONTAINER, **waiting("CrashLoopBackOff", last=last)}]})

    assert len(found.plugin_failing) == LONGEST


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            "0/5 nodes are available: 1 Insufficient memory, 1 Insufficient nvidia.com/gpu. preemption: 0/5 nodes",
            "Unschedulable: Insufficient memory, Insufficient nvidia.com/gpu",
        ),
        ("0/5 nodes are available: 5 node(s) had untolerated taints.", "Unschedulable"),
    ],
)
def test_a_pod_that_finds_no_room_is_seen_on_the_node_it_is_meant_for(message: str, why: str) -> None:
    """A DaemonSet names its node by affinity; the scheduler's numbers of nodes must not make news of nothing."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n7"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
        }
    }
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    found = seen({**CHART, "nodeName": "", "affinity": affinity}, {"phase": "Pending", "conditions": [condition]})

    assert (found.node, found.plugin_failing, found.started) == ("n7", why, None)


@pytest.mark.parametrize(
    "affinity",
    [
        None,
        {},
        {"nodeAffinity": None},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": None}},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}},
    ],
)
def test_a_pod_for_no_node_is_nobodys(affinity: Any) -> None:
    assert pod({**CHART, "nodeName": None, "affinity": affinity}) == (None, [])


def test_an_odd_start_is_told_and_counts_as_unknown() -> None:
    found, odd = pod(CHART, {"startTime": "soon"})

    assert found is not None
    assert found.started is None
    assert odd == ["status.startTime is 'soon', which is no time; 1970 is taken instead"]


def running(at: str) -> dict[str, Any]:
    return {"state": {"running": {"startedAt": at}}, "lastState": {"terminated": CRASH}}


@pytest.mark.parametrize("container", [SIDECAR, CONTAINER])
def test_between_two_crashes_a_container_runs_and_its_failure_is_remembered_with_the_time_of_its_start(
    container: str,
) -> None:
    at = datetime(2026, 3, 1, 12, 1, tzinfo=UTC)
    found = seen(CHART, {"containerStatuses": [{"name": container, **running("2026-03-01T12:01:00Z")}]})
    told = [(found.manager_failing, found.manager_again), (found.plugin_failing, found.plugin_again)]
    assert (told if container == SIDECAR else told[::-1]) == [("CrashLoopBackOff, exit code 1", at), ("", None)]


def test_of_two_failures_the_one_that_lasts_counts_and_else_the_newer() -> None:
    statuses = [
        {"name": "x", **running("2026-03-01T12:01:00Z")},
        {"name": "y", **running("2026-03-01T12:03:00Z")},
    ]
    assert seen(CHART, {"containerStatuses": statuses}).plugin_again == datetime(2026, 3, 1, 12, 3, tzinfo=UTC)
    statuses.append({"name": "z", **waiting("CreateContainerConfigError")})
    found = seen(CHART, {"containerStatuses": statuses})
    assert (found.plugin_failing, found.plugin_again) == ("CreateContainerConfigError", None)


def test_it_is_known_since_when_a_pod_is_ready() -> None:
    at = "2026-03-01T12:00:00Z"
    ready = seen(CHART, {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": at}]})
    assert (ready.ready, ready.ready_since) == (True, datetime(2026, 3, 1, 12, tzinfo=UTC))
    unready = seen(CHART, {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}]})
    assert (unready.ready, unready.ready_since) == (False, None)
