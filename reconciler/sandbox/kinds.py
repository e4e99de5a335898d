"""Which resources does the server serve? The built-in ones, and those that CustomResourceDefinitions bring and take."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reconciler.sandbox.encoding import Json


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource in one version. `status` says whether it has a status subresource."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False
    custom: bool = False
    prefix: bytes = field(init=False, repr=False)
    """How every stored object begins; lists of built-in resources leave it off their items, as the real server does."""

    def __post_init__(self) -> None:
        text = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'
        object.__setattr__(self, "prefix", text.encode())

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name in messages: `nodes`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Where the resource, or one object of it, is served."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        middle = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return (
            root
            + middle
            + f"/{self.plural}"
            + (f"/{name}" if name else "")
            + (f"/{subresource}" if subresource else "")
        )


NODES = Kind("", "v1", "nodes", "Node", namespaced=False, status=True)
PODS = Kind("", "v1", "pods", "Pod", status=True)
NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False, status=True)
CONFIGMAPS = Kind("", "v1", "configmaps", "ConfigMap")
EVENTS = Kind("", "v1", "events", "Event")
SERVICEACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
JOBS = Kind("batch", "v1", "jobs", "Job", status=True)
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment", status=True)
REPLICASETS = Kind("apps", "v1", "replicasets", "ReplicaSet", status=True)
DAEMONSETS = Kind("apps", "v1", "daemonsets", "DaemonSet", status=True)
BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", status=True)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
EVENTS_V1 = Kind("events.k8s.io", "v1", "events", "Event")
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False, status=True
)

BUILT_IN = (
    NODES,
    PODS,
    NAMESPACES,
    CONFIGMAPS,
    EVENTS,
    SERVICEACCOUNTS,
    JOBS,
    DEPLOYMENTS,
    REPLICASETS,
    DAEMONSETS,
    BUDGETS,
    LEASES,
    EVENTS_V1,
    DEFINITIONS,
)

NODECLAIMS = Kind("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False, status=True, custom=True)
NODEPOOLS = Kind("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False, status=True, custom=True)
NODEOVERLAYS = Kind(
    "karpenter.sh", "v1alpha1", "nodeoverlays", "NodeOverlay", namespaced=False, status=True, custom=True
)


def definition(kind: Kind) -> Json:
    """A CustomResourceDefinition that brings this kind."""
    version: Json = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    if kind.status:
        version["subresources"] = {"status": {}}
    return {
        "kind": DEFINITIONS.kind,
        "apiVersion": DEFINITIONS.api_version,
        "metadata": {"name": kind.resource},
        "spec": {
            "group": kind.group,
            "names": {
                "plural": kind.plural,
                "kind": kind.kind,
                "singular": kind.kind.lower(),
                "listKind": f"{kind.kind}List",
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def defined(crd: Json) -> Iterator[Kind]:
    """The kinds, one per served version, that a CustomResourceDefinition brings."""
    spec = crd["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield Kind(
                spec["group"],
                version["name"],
                spec["names"]["plural"],
                spec["names"]["kind"],
                namespaced=spec.get("scope") == "Namespaced",
                status="status" in version.get("subresources", {}),
                custom=True,
            )
