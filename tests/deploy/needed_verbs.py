"""What must the controller's account be able to do? Data, for the manifests' test and a real API server."""

from tests.deploy.rights import Attempt

OWN = "gpu-reconciler"
CATALOG = "gpu-reconciler-catalog"
LEASE = "gpu-reconciler"
PLUGIN = "nvidia-device-plugin"
PROFILES = "gpu-profiles"

NEEDED = (
    *(Attempt(verb, "", "nodes") for verb in ("list", "watch", "patch")),
    Attempt("patch", "", "nodes/status"),
    *(Attempt(verb, "", "pods") for verb in ("list", "watch")),
    *(
        Attempt(verb, "karpenter.sh", kind)
        for kind in ("nodeclaims", "nodepools", "nodeoverlays")
        for verb in ("list", "watch")
    ),
    *(Attempt(verb, "karpenter.sh", "nodeoverlays") for verb in ("create", "patch", "delete")),
    *(Attempt(verb, "batch", "jobs", OWN) for verb in ("create", "list", "watch")),
    Attempt("create", "", "configmaps", OWN),
    *(Attempt(verb, "", "configmaps", OWN, CATALOG) for verb in ("get", "list", "watch", "patch")),
    Attempt("create", "coordination.k8s.io", "leases", OWN),
    *(Attempt(verb, "coordination.k8s.io", "leases", OWN, LEASE) for verb in ("get", "patch")),
    Attempt("create", "", "events", "default"),
)

FOR_SHARING = tuple(Attempt(verb, "", "configmaps", PLUGIN, PROFILES) for verb in ("list", "watch"))
"""Besides, where settings give rules for sharing GPUs (deploy/manifests/sharing)."""

FOR_RESTARTS = (Attempt("delete", "", "pods", PLUGIN),)
"""Besides, with slicing.restart_plugin (deploy/manifests/sharing/restart-plugin.yaml)."""
