"""What do we watch? One line a kind: where it lives, which of its objects matter, and how they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from reconciler.kube import parse, probe_views
from reconciler.kube.plugin_config import PluginConfigWire, plugin_config
from reconciler.kube.plugin_pods import PluginPodWire, plugin_pod
from reconciler.kube.pods import PodParser
from reconciler.kube.probe_job import PROBE_LABEL_VALUE
from reconciler.kube.probe_views import JobView, JobWire, ProbePodView, ProbePodWire
from reconciler.kube.reader import Reader, by_name, by_uid
from reconciler.kube.trouble import Report
from reconciler.kube.wire import ClaimWire, NodeWire, PodWire
from reconciler.model import names
from reconciler.model.node import NodeClaimView, NodeView
from reconciler.model.plugin import PluginPod
from reconciler.model.sharing import PluginConfig
from reconciler.model.workload import PodView

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Source(Generic[V]):
    """One kind of object. `optional`: the kind may be absent, and come and go while we run."""

    path: str
    reader: Reader[Any, V]
    selectors: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False

    @property
    def kind(self) -> str:
        return self.reader.kind


def nodes(report: Report) -> Source[NodeView]:
    return Source("/api/v1/nodes", Reader("Node", NodeWire, parse.NodeParser(), by_name, report))


def pods(report: Report) -> Source[PodView]:
    """Pods that hold something. The server leaves out the others, and tells of a pod's end as of its deletion."""
    chosen = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
    return Source("/api/v1/pods", Reader("Pod", PodWire, PodParser(), by_uid, report), {"fieldSelector": chosen})


def node_claims(report: Report) -> Source[NodeClaimView]:
    reader = Reader("NodeClaim", ClaimWire, parse.node_claim, by_name, report)
    return Source("/apis/karpenter.sh/v1/nodeclaims", reader, optional=True)


_PROBES = {"labelSelector": f"{names.LABEL_PROBE}={PROBE_LABEL_VALUE}"}


def probe_jobs(report: Report, namespace: str) -> Source[JobView]:
    reader = Reader("Job", JobWire, probe_views.job, by_name, report)
    return Source(f"/apis/batch/v1/namespaces/{namespace}/jobs", reader, _PROBES)


def probe_pods(report: Report, namespace: str) -> Source[ProbePodView]:
    reader = Reader("Pod", ProbePodWire, probe_views.probe_pod, by_name, report)
    return Source(f"/api/v1/namespaces/{namespace}/pods", reader, _PROBES)


def plugin_config_map(report: Report, namespace: str, name: str) -> Source[PluginConfig]:
    """The device plugin's ConfigMap. Optional: without the plugin, or a right in its namespace, memory still counts."""
    reader = Reader("ConfigMap", PluginConfigWire, plugin_config, by_name, report)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return Source(path, reader, {"fieldSelector": f"metadata.name={name}"}, optional=True)


def plugin_pods(report: Report, namespace: str, selector: str) -> Source[PluginPod]:
    """The device plugin's pods, by a label selector as the API takes it. Optional likewise."""
    reader = Reader("Pod", PluginPodWire, plugin_pod, by_uid, report)
    return Source(f"/api/v1/namespaces/{namespace}/pods", reader, {"labelSelector": selector}, optional=True)
