"""What must the controller's account never be able to do? Data, for the manifests' test and a real API server.

Each line is a way to harm a cluster that a stolen token of the controller must not open.
"""

from itertools import product

from tests.deploy.rights import Attempt

OWN = "gpu-reconciler"
PLUGIN = "nvidia-device-plugin"
ELSEWHERE = ("default", "kube-system", "prod")

_EVERY_VERB = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_RBAC = "rbac.authorization.k8s.io"
_KARPENTER_KINDS = ("nodeclaims", "nodepools", "nodeoverlays")
_RBAC_KINDS = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
_INTO_PODS = ("exec", "attach", "portforward", "proxy", "log", "ephemeralcontainers")

FORBIDDEN = (
    # Secrets and tokens, anywhere
    *(Attempt(verb, "", "secrets", where) for verb, where in product(_EVERY_VERB, (None, OWN, *ELSEWHERE))),
    *(Attempt("create", "", "serviceaccounts/token", where) for where in (OWN, *ELSEWHERE)),
    *(Attempt(verb, "", "serviceaccounts", where) for verb, where in product(_WRITES, (OWN, "kube-system"))),
    # Becoming somebody else, or somebody mightier
    *(Attempt("impersonate", "", who) for who in ("users", "groups", "serviceaccounts")),
    *(Attempt(verb, _RBAC, kind) for verb, kind in product((*_WRITES, "bind", "escalate"), _RBAC_KINDS)),
    Attempt("create", "certificates.k8s.io", "certificatesigningrequests"),
    Attempt("approve", "certificates.k8s.io", "signers"),
    # Code in pods: an API write could run it or reach into it
    *(Attempt(verb, "", "pods", where) for verb, where in product((*_WRITES, "get"), (None, OWN, *ELSEWHERE))),
    *(
        Attempt(verb, "", f"pods/{part}", where)
        for verb, part, where in product(
            ("create", "get"),
            _INTO_PODS,
            (OWN, *ELSEWHERE),
        )
    ),
    *(
        Attempt("create", "", f"pods/{part}", where)
        for part, where in product(("eviction", "binding"), (OWN, *ELSEWHERE))
    ),
    *(
        Attempt(verb, "apps", kind, where)
        for verb, kind, where in product(_WRITES, ("deployments", "daemonsets", "statefulsets"), (OWN, *ELSEWHERE))
    ),
    *(Attempt(verb, "batch", "jobs", where) for verb, where in product(_WRITES, ELSEWHERE)),
    *(Attempt(verb, "batch", "jobs", OWN) for verb in ("update", "patch", "delete", "deletecollection")),
    *(Attempt(verb, "batch", "cronjobs", where) for verb, where in product(_WRITES, (OWN, *ELSEWHERE))),
    # Nodes: patched, never made, replaced, removed, or reached through
    *(Attempt(verb, "", "nodes") for verb in ("create", "update", "delete", "deletecollection")),
    *(Attempt(verb, "", "nodes/status") for verb in ("update",)),
    *(Attempt(verb, "", "nodes/proxy") for verb in ("get", "create")),
    *(Attempt(verb, "karpenter.sh", kind) for verb, kind in product(_WRITES, ("nodeclaims", "nodepools"))),
    *(Attempt(verb, "karpenter.sh", f"{kind}/status") for verb, kind in product(_WRITES, _KARPENTER_KINDS)),
    *(Attempt(verb, "karpenter.sh", "nodeoverlays") for verb in ("update", "deletecollection")),
    *(Attempt(verb, "karpenter.k8s.aws", "ec2nodeclasses") for verb in _EVERY_VERB),
    # What others own
    *(Attempt(verb, "", "configmaps", where) for verb, where in product(_EVERY_VERB, ELSEWHERE)),
    *(Attempt(verb, "", "configmaps", OWN, "gpu-reconciler-settings") for verb in ("get", "update", "patch", "delete")),
    *(Attempt(verb, "", "configmaps", OWN) for verb in ("list", "delete", "deletecollection")),
    *(Attempt(verb, "coordination.k8s.io", "leases", where) for verb, where in product(_EVERY_VERB, ELSEWHERE)),
    *(Attempt(verb, "coordination.k8s.io", "leases", OWN, "another") for verb in ("get", "update", "patch", "delete")),
    Attempt("update", "coordination.k8s.io", "leases", "kube-node-lease", "some-node"),
    *(Attempt(verb, "", "events", "default") for verb in ("get", "list", "update", "delete")),
    *(Attempt("update", "", "configmaps", OWN, name) for name in ("gpu-reconciler-catalog", None)),
    *(Attempt("create", "", "events", where) for where in ("kube-system", "prod")),
    *(Attempt(verb, "", "namespaces") for verb in _WRITES),
    *(Attempt(verb, "policy", "poddisruptionbudgets", where) for verb, where in product(_WRITES, (OWN, "prod"))),
    # The device plugin is its administrator's: its profiles are read, and nothing that it runs is changed
    *(Attempt(verb, "", "configmaps", PLUGIN, "gpu-profiles") for verb in _WRITES),
    *(Attempt(verb, "", "configmaps", PLUGIN, name) for verb, name in product(_EVERY_VERB, ("another", None))),
    *(Attempt(verb, "", "secrets", PLUGIN) for verb in _EVERY_VERB),
    *(Attempt(verb, "", "pods", PLUGIN) for verb in ("create", "update", "patch", "deletecollection", "get")),
    *(Attempt(verb, "", f"pods/{part}", PLUGIN) for verb, part in product(("create", "get"), _INTO_PODS)),
    *(Attempt(verb, "apps", "daemonsets", PLUGIN) for verb in _EVERY_VERB),
    # The API server itself
    *(Attempt(verb, "apiextensions.k8s.io", "customresourcedefinitions") for verb in _EVERY_VERB),
    *(
        Attempt(verb, "admissionregistration.k8s.io", kind)
        for verb, kind in product(_WRITES, ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"))
    ),
    *(Attempt(verb, "*", "*") for verb in ("*", "get", "create")),
)

FORBIDDEN_BY_DEFAULT = tuple(
    Attempt(verb, "", "pods", where) for verb, where in product(("delete", "deletecollection"), (None, PLUGIN))
)
"""Deleting the plugin's pods is a right that people give by hand, or not (needed_verbs.FOR_RESTARTS)."""
