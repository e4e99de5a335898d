"""With which flags does each program of the control plane run, and which files do they share?"""

from __future__ import annotations

from pathlib import Path

CA = "certs/apiserver.crt"  # the API server writes it: its certificate, and the one that signed it
TOKENS = "tokens.csv"
ACCOUNTS_KEY = "accounts.key"
AUDIT_POLICY = "audit-policy.json"
AUDIT_LOG = "audit.log"

# The defaults of 20 a second would make the tests wait for the client's own brake.
_UNHURRIED = ["--kube-api-qps=300", "--kube-api-burst=600"]


def etcd(folder: Path, url: str, peer_url: str) -> list[str]:
    """A store that forgets with the machine; nothing here has to survive a power cut."""
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def apiserver(folder: Path, etcd_url: str, url: str) -> list[str]:
    """RBAC, the Node authorizer and NodeRestriction on, as on EKS."""
    key = folder / ACCOUNTS_KEY
    return [
        f"--etcd-servers={etcd_url}",
        f"--secure-port={url.rpartition(':')[2]}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # 1.37 refuses a loopback address with any other
        f"--cert-dir={folder / 'certs'}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={folder / TOKENS}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        f"--audit-policy-file={folder / AUDIT_POLICY}",
        f"--audit-log-path={folder / AUDIT_LOG}",
        "--profiling=false",
    ]


def controller_manager(folder: Path) -> list[str]:
    """All controllers but the one that needs node networks. A silent node is believed for a day (see ControlPlane)."""
    return [
        f"--kubeconfig={folder / 'kube-controller-manager.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={folder / ACCOUNTS_KEY}",
        f"--root-ca-file={folder / CA}",
        "--controllers=*,-node-ipam-controller",
        "--node-monitor-grace-period=24h",
        *_UNHURRIED,
    ]


def scheduler(folder: Path) -> list[str]:
    """The default profile."""
    kubeconfig = folder / "kube-scheduler.kubeconfig"
    return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0", *_UNHURRIED]
